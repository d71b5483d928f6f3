import type { Context } from 'aws-lambda';
import { accessOf } from '../lib/http/endpoint.ts';
import { withInvocation } from '../lib/log/request-fields.ts';
import { checkNewVersions } from '../lib/release/check-new-versions.ts';

/**
 * The function's access to the table. The stack gives it the permission to invoke the versions.
 */
export const access = accessOf({
  summary: 'Tries new versions before they get requests',
  table: { table_format: ['GetItem'], probes: ['GetItem', 'Query', 'PutItem', 'DeleteItem'] },
  // Every function starts cold, one after the other.
  seconds: 150,
});

export const handler = (event: unknown, context: Context): Promise<void> =>
  withInvocation(context, () => checkNewVersions(event, () => context.getRemainingTimeInMillis()));
