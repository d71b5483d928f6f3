// What must hold before a version gets traffic, and what a deployment needs besides: the first keys, the format of the
// table, the trial of a new version, the shipping of the audit log. It calls the functions as a client does.

import { CodeDeployClient, PutLifecycleEventHookExecutionStatusCommand } from '@aws-sdk/client-codedeploy';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import * as v from 'valibot';
import { requestTimeouts } from '../foundation/aws-client.ts';
import { environment } from '../foundation/environment.ts';
import { logEvent, logFailure } from '../log/log.ts';
import { formatProblem } from '../storage/table-format.ts';
import { issuer, keysPath, tokenPath } from '../tokens/issuer.ts';
import examples from './examples.json' with { type: 'json' };
import { type Probe, provider, setUpProvider, withProbe } from './probe.ts';
import { basic, smokeTest } from './smoke-test.ts';

/** `KEY=NAME:VERSION` for each function that serves requests, with spaces between. */
const newVersions = environment('NEW_VERSIONS');

const codeDeploy = new CodeDeployClient(requestTimeouts(3, 5_000));
/** A version has ten seconds for a request, and as many for its start. */
const lambda = new LambdaClient(requestTimeouts(3, 25_000));

/** Milliseconds kept for the removal of the probe and the answer to CodeDeploy. */
const reserve = 10_000;
/** Milliseconds of a request at most: the start of a version, and the timeout of a function. */
const longestRequest = 20_000;

/** @see AWS CodeDeploy user guide, "AppSpec 'hooks' section for an AWS Lambda deployment" */
const hookEventSchema = v.object({ DeploymentId: v.string(), LifecycleEventHookExecutionId: v.string() });

/**
 * Tells CodeDeploy whether the new versions work, before any of them gets a request. With few requests, the alarm on five
 * failed ones would come too late.
 * @param remaining milliseconds that the function may still run
 * @param apiId stands for the API's id, so that a version recognises a direct invocation
 */
export async function checkNewVersions(event: unknown, remaining: () => number, apiId: string) {
  const { DeploymentId, LifecycleEventHookExecutionId } = v.parse(hookEventSchema, event);
  await codeDeploy.send(
    new PutLifecycleEventHookExecutionStatusCommand({
      deploymentId: DeploymentId,
      lifecycleEventHookExecutionId: LifecycleEventHookExecutionId,
      status: (await work(remaining() - reserve, apiId)) ? 'Succeeded' : 'Failed',
    }),
  );
}

/**
 * Tries the new versions, and returns whether they work. Errors are only logged: without an answer, CodeDeploy waits for an hour.
 * No request begins in the last 20 seconds, so that each is over when the probe is removed.
 * @param milliseconds after which the probe is removed, whatever is under way
 */
async function work(milliseconds: number, apiId: string): Promise<boolean> {
  const lastRequest = AbortSignal.timeout(milliseconds - longestRequest);
  const end = AbortSignal.timeout(milliseconds);
  const send: Send = async (key, request) => {
    if (lastRequest.aborted) throw new Error('The time for the check is up.');
    return invokeVersion(key, request, apiId, end);
  };
  try {
    const problem = await formatProblem();
    if (problem !== undefined) throw new Error(problem);
    await withProbe((probe) => tryVersions(probe, send), end);
    logEvent('new_versions_checked', {});
    return true;
  } catch (error) {
    logFailure('new_versions_failed', error, {});
    return false;
  }
}

/** A request to a function, with its route as API Gateway writes it. */
const requestSchema = v.looseObject({
  routeKey: v.string(),
  headers: v.record(v.string(), v.string()),
  pathParameters: v.exactOptional(v.record(v.string(), v.string())),
  /** The status that it must be answered with. @default 200 */
  status: v.exactOptional(v.number()),
});
type Request = v.InferOutput<typeof requestSchema>;

/** Sends a request to the new version of a function, by its key. @throws Error that names the route, for a wrong answer */
type Send = (key: string, request: Request) => Promise<unknown>;

/** Tries the versions until the first problem. @throws Error */
async function tryVersions(probe: Probe, send: Send): Promise<void> {
  const pathParameters = { access_request_id: String(probe.access_request_id) };
  const search = 'GET /v1/rbac/access_requests/{access_request_id}/events';
  await smokeTest(
    { ...probe, issuer: issuer() },
    async (step, body, { headers = {}, form } = {}) => {
      const requests: Record<typeof step, Parameters<Send>> = {
        'signing keys': ['list-signing-keys', { routeKey: `GET ${keysPath}`, headers }],
        token: ['issue-token', tokenRequest(headers, { ...form })],
        search: ['search-events', { routeKey: search, pathParameters, headers }],
      };
      return v.parse(body, await send(...requests[step]));
    },
    (problem) => {
      throw new Error(problem);
    },
  );
  const id_token = await setUpProvider(probe.login_app_id, probe.expires_at);
  const form = { grant_type: 'provider_credentials', provider, id_token };
  const answer = await send('issue-token', tokenRequest({ authorization: clientOf(probe) }, form));
  const authorization = `Bearer ${v.parse(loginSchema, answer).access_token}`;
  await tryExamples(probe, authorization, send);
  const routeKey = 'DELETE /v2/marketing/login/user';
  await send('delete-login-user', { routeKey, headers: { authorization }, status: 204 });
}

const clientOf = (probe: Probe): string => basic(probe.client_id, probe.client_secret);

const loginSchema = v.object({ access_token: v.string(), refresh_token: v.string() });

const tokenRequest = (headers: Record<string, string>, form: Record<string, string>) => ({
  routeKey: `POST ${tokenPath}`,
  headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
  body: String(new URLSearchParams(form)),
});

/**
 * Sends the example request of every endpoint. Only a GET gets the credentials of the probe or its person: the others are
 * to be rejected, so that they leave nothing.
 * @param ofPerson the person's `Authorization` header
 */
async function tryExamples(probe: Probe, ofPerson: string, send: Send) {
  const credentials = new Map([
    [basic('CLIENT_ID', 'CLIENT_SECRET'), clientOf(probe)],
    [basic('ACCOUNT_ID', 'ACCOUNT_SECRET'), basic(probe.account_id, probe.account_secret)],
    ['Bearer LOGIN_USER_TOKEN', ofPerson],
  ]);
  for (const [key, example] of Object.entries(examples)) {
    const request = v.parse(requestSchema, example);
    const { headers, pathParameters } = request;
    const real = credentials.get(headers.authorization ?? '');
    if (real && request.routeKey.startsWith('GET ')) headers.authorization = real;
    if (pathParameters?.access_request_id) pathParameters.access_request_id = String(probe.access_request_id);
    await send(key, request);
  }
}

const answerSchema = v.object({ statusCode: v.number(), body: v.optional(v.string(), 'null') });

/** Invokes a version as API Gateway would (payload format 2.0). @returns the JSON of the body @param abortSignal ends the wait */
async function invokeVersion(key: string, given: Request, apiId: string, abortSignal: AbortSignal) {
  const { status = 200, ...request } = given;
  const { routeKey } = request;
  const event = {
    version: '2.0',
    rawQueryString: '',
    requestContext: { apiId, requestId: 'check-new-versions', routeKey },
    isBase64Encoded: false,
    ...request,
  };
  const version = newVersions()
    .split(' ')
    .find((one) => one.startsWith(`${key}=`));
  if (version === undefined) throw new Error(`There is no new version of ${key}.`);
  const FunctionName = version.slice(key.length + 1);
  const invocation = new InvokeCommand({ FunctionName, Payload: JSON.stringify(event) });
  const { Payload, FunctionError } = await lambda.send(invocation, { abortSignal }).catch((cause) => {
    throw new Error(`The new version for ${routeKey} gives no answer.`, { cause });
  });
  if (FunctionError) throw new Error(`The new version for ${routeKey} does not run: ${FunctionError}.`);
  const { statusCode, body } = v.parse(answerSchema, JSON.parse(Payload?.transformToString() ?? ''));
  if (statusCode !== status)
    throw new Error(`The new version for ${routeKey} answers ${statusCode}, not ${status}.`);
  return JSON.parse(body || 'null');
}
