import { CodeDeployClient, PutLifecycleEventHookExecutionStatusCommand } from '@aws-sdk/client-codedeploy';
import { createLocalJWKSet, jwtVerify } from 'jose';
import * as v from 'valibot';
import { environment } from '../environment.ts';
import { logEvent, logFailure } from '../log/log.ts';
import { jwkSetSchema } from '../signing-keys/key-set.ts';
import { issuer } from '../tokens/issuer.ts';
import { keysPath, tokenPath } from '../tokens/paths.ts';
import { askVersion } from './invoke-version.ts';
import { type Probe, withProbe } from './probe.ts';

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
    await withProbe(tryOut);
    logEvent('new_versions_checked', {});
    return true;
  } catch (error) {
    logFailure('new_versions_failed', error, {});
    return false;
  }
}

/** Issues a token, verifies it as a stranger would, and searches. @throws Error */
async function tryOut({ client, account, accessRequestId }: Probe): Promise<void> {
  const token = await askVersion({
    version: issueToken(),
    routeKey: `POST ${tokenPath}`,
    headers: { ...basic(client), 'content-type': 'application/x-www-form-urlencoded' },
    body: 'grant_type=client_credentials',
  });
  const { access_token } = v.parse(v.object({ access_token: v.string() }), token);
  const keys = await askVersion({ version: listSigningKeys(), routeKey: `GET ${keysPath}` });
  await jwtVerify(access_token, createLocalJWKSet(v.parse(jwkSetSchema, keys)), {
    issuer: issuer(),
    typ: 'at+jwt',
  });
  const found = await askVersion({
    version: searchEvents(),
    routeKey: 'GET /v1/rbac/access_requests/{access_request_id}/events',
    headers: basic(account),
    pathParameters: { access_request_id: String(accessRequestId) },
  });
  v.parse(v.object({ total: v.literal(0), results: v.tuple([]) }), found);
}

const basic = ({ id, secret }: Probe['client']) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
});
