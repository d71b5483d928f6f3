// What must hold before a version gets traffic, and what a deployment needs besides: the first keys, the format of the
// table, the trial of a new version, the shipping of the audit log. It calls the functions as a client does.

import { CodeDeployClient, PutLifecycleEventHookExecutionStatusCommand } from '@aws-sdk/client-codedeploy';
import * as v from 'valibot';
import { requestTimeouts } from '../foundation/aws-client.ts';
import { environment } from '../foundation/environment.ts';
import { logEvent, logFailure } from '../log/log.ts';
import { requireReadableFormat } from '../storage/table-format.ts';
import { issuer, keysPath, tokenPath } from '../tokens/issuer.ts';
import { invokeVersion } from './invoke-version.ts';
import { type Probe, withProbe } from './probe.ts';
import { provider, setUpProvider } from './probe-provider.ts';
import { basic, smokeTest } from './smoke-test.ts';
import { tryExamples } from './try-examples.ts';

/** `KEY=NAME:VERSION` for each function that serves requests, with spaces between. */
const newVersions = environment('NEW_VERSIONS');

const client = new CodeDeployClient(requestTimeouts(3, 5_000));

/** Milliseconds that are kept for the removal of the probe and the answer to CodeDeploy. */
const reserve = 10_000;
/** Milliseconds that a request to a version takes at most: its start, and the timeout of a function. */
const longestRequest = 20_000;

/** @see AWS CodeDeploy user guide, "AppSpec 'hooks' section for an AWS Lambda deployment" */
const hookEventSchema = v.object({ DeploymentId: v.string(), LifecycleEventHookExecutionId: v.string() });

/**
 * Tells CodeDeploy whether the new versions work, before any of them gets a request. A service with few requests would
 * notice a broken one too late: five of its requests would have to fail before an alarm goes off.
 * @param remaining how many milliseconds the function may still run
 * @param apiId by which a version knows a direct invocation
 */
export async function checkNewVersions(
  event: unknown,
  remaining: () => number,
  apiId: string,
): Promise<void> {
  const { DeploymentId, LifecycleEventHookExecutionId } = v.parse(hookEventSchema, event);
  await client.send(
    new PutLifecycleEventHookExecutionStatusCommand({
      deploymentId: DeploymentId,
      lifecycleEventHookExecutionId: LifecycleEventHookExecutionId,
      status: (await work(remaining() - reserve, apiId)) ? 'Succeeded' : 'Failed',
    }),
  );
}

/**
 * Tries the new versions. Whatever goes wrong becomes an answer to CodeDeploy, which would otherwise wait for an hour.
 * No request begins in the last 20 seconds, so that each is over when the probe is removed.
 * @param milliseconds after which the probe is removed, whatever is under way
 */
async function work(milliseconds: number, apiId: string): Promise<boolean> {
  const lastRequest = AbortSignal.timeout(milliseconds - longestRequest);
  const end = AbortSignal.timeout(milliseconds);
  const invoke: Invoke = async (request) => {
    if (lastRequest.aborted) throw new Error('The time for the check is up.');
    return invokeVersion(request, apiId, end);
  };
  try {
    await requireReadableFormat();
    await withProbe((probe) => tryVersions(probe, invoke), end);
    logEvent('new_versions_checked', {});
    return true;
  } catch (error) {
    logFailure('new_versions_failed', error, {});
    return false;
  }
}

type Invoke = (request: Parameters<typeof invokeVersion>[0]) => Promise<unknown>;

/** The first thing that is wrong ends it. @throws Error */
async function tryVersions(probe: Probe, invoke: Invoke): Promise<void> {
  await smokeTest(
    { ...probe, issuer: issuer() },
    async ({ step, headers = {}, form, body }) => {
      const request = {
        'signing keys': { ...versionOf('list-signing-keys'), routeKey: `GET ${keysPath}`, headers },
        token: tokenRequest(headers, { ...form }),
        search: {
          ...versionOf('search-events'),
          routeKey: 'GET /v1/rbac/access_requests/{access_request_id}/events',
          pathParameters: { access_request_id: String(probe.accessRequestId) },
          headers,
        },
      }[step];
      return v.parse(body, await invoke(request));
    },
    (problem) => {
      throw new Error(problem);
    },
  );
  const accessToken = await logIn(probe, invoke);
  await tryExamples(probe, accessToken, (key, request) => invoke({ ...versionOf(key), ...request }));
  await invoke({
    ...versionOf('delete-login-user'),
    routeKey: 'DELETE /v2/marketing/login/user',
    headers: { authorization: `Bearer ${accessToken}` },
    status: 204,
  });
}

/** Logs the probe's person in, through its provider. @returns their access token */
async function logIn({ client, loginAppId, expiresAt }: Probe, invoke: Invoke): Promise<string> {
  const id_token = await setUpProvider(loginAppId, expiresAt);
  const request = tokenRequest(
    { authorization: basic(client) },
    { grant_type: 'provider_credentials', provider, id_token },
  );
  return v.parse(loginSchema, await invoke(request)).access_token;
}

const loginSchema = v.object({ access_token: v.string(), refresh_token: v.string() });

const tokenRequest = (headers: Record<string, string>, form: Record<string, string>) => ({
  ...versionOf('issue-token'),
  routeKey: `POST ${tokenPath}`,
  headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
  body: String(new URLSearchParams(form)),
});

/** The new version of the function of a key. @throws Error when there is none */
function versionOf(key: string): { version: string } {
  const pair = newVersions()
    .split(' ')
    .find((one) => one.startsWith(`${key}=`));
  if (pair === undefined) throw new Error(`There is no new version of ${key}.`);
  return { version: pair.slice(key.length + 1) };
}
