import { CodeDeployClient, PutLifecycleEventHookExecutionStatusCommand } from '@aws-sdk/client-codedeploy';
import * as v from 'valibot';
import { environment } from '../environment.ts';
import { logEvent, logFailure } from '../log/log.ts';
import { requireReadableFormat } from '../storage/table-format.ts';
import { issuer } from '../tokens/issuer.ts';
import { keysPath, tokenPath } from '../tokens/paths.ts';
import { askVersion } from './invoke-version.ts';
import { type Probe, withProbe } from './probe.ts';
import { tryOut } from './try-out.ts';

const issueToken = environment('ISSUE_TOKEN_VERSION');
const listSigningKeys = environment('LIST_SIGNING_KEYS_VERSION');
const searchEvents = environment('SEARCH_EVENTS_VERSION');

const client = new CodeDeployClient({});

/** @see AWS CodeDeploy user guide, "AppSpec 'hooks' section for an AWS Lambda deployment" */
const hookEventSchema = v.object({ DeploymentId: v.string(), LifecycleEventHookExecutionId: v.string() });

/**
 * Tells CodeDeploy whether the new versions work, before any of them gets a request. A service with few requests would
 * notice a broken one too late: five of its requests would have to fail in a minute.
 */
export async function checkNewVersions(event: unknown): Promise<void> {
  const { DeploymentId, LifecycleEventHookExecutionId } = v.parse(hookEventSchema, event);
  await client.send(
    new PutLifecycleEventHookExecutionStatusCommand({
      deploymentId: DeploymentId,
      lifecycleEventHookExecutionId: LifecycleEventHookExecutionId,
      status: (await work()) ? 'Succeeded' : 'Failed',
    }),
  );
}

/** Tries the new versions. Whatever goes wrong becomes an answer to CodeDeploy, which would otherwise wait for an hour. */
async function work(): Promise<boolean> {
  try {
    await requireReadableFormat();
    await withProbe(tryVersions);
    logEvent('new_versions_checked', {});
    return true;
  } catch (error) {
    logFailure('new_versions_failed', error, {});
    return false;
  }
}

/** The first thing that is wrong ends it. @throws Error */
const tryVersions = (probe: Probe): Promise<void> => {
  const versions = {
    'signing keys': { version: listSigningKeys(), routeKey: `GET ${keysPath}` },
    token: { version: issueToken(), routeKey: `POST ${tokenPath}` },
    search: {
      version: searchEvents(),
      routeKey: 'GET /v1/rbac/access_requests/{access_request_id}/events',
      pathParameters: { access_request_id: String(probe.accessRequestId) },
    },
  };
  return tryOut(
    { ...probe, issuer: issuer() },
    async ({ step, headers, form, body }) =>
      v.parse(
        body,
        await askVersion({
          ...versions[step],
          headers: { ...headers, ...(form && { 'content-type': 'application/x-www-form-urlencoded' }) },
          ...(form && { body: String(new URLSearchParams(form)) }),
        }),
      ),
    (problem) => {
      throw new Error(problem);
    },
  );
};
