import type { Context } from 'aws-lambda';
import { accessOf } from '../lib/http/endpoint.ts';
import { directInvocation } from '../lib/http/origin-secret.ts';
import { withInvocation } from '../lib/log/request-fields.ts';
import { checkNewVersions } from '../lib/release/check-new-versions.ts';

/**
 * Rights of the function. Those to invoke the versions and report to CodeDeploy come with the
 * deployment groups.
 */
export const access = accessOf({
  summary: 'Tries new versions before they get requests',
  table: { table_format: ['GetItem'], probes: ['GetItem', 'Query', 'PutItem', 'DeleteItem'] },
  // Every function starts cold, one after the other.
  seconds: 180,
});

export const handler = (event: unknown, context: Context): Promise<void> =>
  withInvocation(context, () =>
    checkNewVersions(event, () => context.getRemainingTimeInMillis(), directInvocation),
  );
