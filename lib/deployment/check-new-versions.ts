import { CodeDeployClient, PutLifecycleEventHookExecutionStatusCommand } from '@aws-sdk/client-codedeploy';
import * as v from 'valibot';
import { environment } from '../environment.ts';
import { logEvent, logFailure } from '../log/log.ts';
import { issuer } from '../tokens/issuer.ts';
import { keysPath, tokenPath } from '../tokens/paths.ts';
import { askVersion } from './invoke-version.ts';
import { type Probe, withProbe } from './probe.ts';
import { tryOut } from './try-out.ts';

/** `KEY=NAME:VERSION` for each function that serves requests, with spaces between. */
const newVersions = environment('NEW_VERSIONS');

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
    'signing keys': { version: versionOf('list-signing-keys'), routeKey: `GET ${keysPath}` },
    token: { version: versionOf('issue-token'), routeKey: `POST ${tokenPath}` },
    search: {
      version: versionOf('search-events'),
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

/** The new version of the function of a key. @throws Error when there is none */
function versionOf(key: string): string {
  const pair = newVersions()
    .split(' ')
    .find((one) => one.startsWith(`${key}=`));
  if (pair === undefined) throw new Error(`There is no new version of ${key}.`);
  return pair.slice(key.length + 1);
}
