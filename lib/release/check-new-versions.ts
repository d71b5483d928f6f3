import {
  CodeDeployClient,
  PutLifecycleEventHookExecutionStatusCommand,
} from '@aws-sdk/client-codedeploy';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import * as v from 'valibot';
import { requestTimeouts } from '../foundation/aws-client.ts';
import { environment } from '../foundation/environment.ts';
import { logEvent, logFailure } from '../log/log.ts';
import { formatProblem } from '../storage/table-format.ts';
import { issuer, tokenPath } from '../tokens/issuer.ts';
import examples from './examples.json' with { type: 'json' };
import { createProbe, type Probe, provider, removeProbe, setUpProvider } from './probe.ts';
import {
  basic,
  keySetSchema,
  searchProblem,
  searchSchema,
  tokenProblem,
  tokenSchema,
} from './smoke-test.ts';

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
const hookEventSchema = v.object({
  DeploymentId: v.string(),
  LifecycleEventHookExecutionId: v.string(),
});

/**
 * Tries the new versions before any of them gets a request, and tells CodeDeploy whether they work.
 * With few requests, the alarm on five failed ones would come too late. Errors are only logged:
 * without an answer, CodeDeploy waits for an hour.
 * @param remaining milliseconds that the function may still run
 * @param apiId stands for the API's id, so that a version recognises a direct invocation
 */
export async function checkNewVersions(event: unknown, remaining: () => number, apiId: string) {
  const { DeploymentId, LifecycleEventHookExecutionId } = v.parse(hookEventSchema, event);
  const milliseconds = remaining() - reserve;
  // No request begins in the last 20 seconds, so that each is over when the probe is removed.
  const lastRequest = AbortSignal.timeout(milliseconds - longestRequest);
  const end = AbortSignal.timeout(milliseconds);
  const send: Send = async (key, request) => {
    if (lastRequest.aborted) throw new Error('The time for the check is up.');
    return invokeVersion(key, request, apiId, end);
  };
  let status: 'Succeeded' | 'Failed' = 'Failed';
  try {
    const problem = await formatProblem();
    if (problem !== undefined) throw new Error(problem);
    const probe = await createProbe();
    // A login may still be under way when the time is up.
    await tryVersions(probe, send).finally(() =>
      removeProbe(probe.login_app_id, probe.account_id, end.aborted ? probe.expires_at : undefined),
    );
    logEvent('new_versions_checked', {});
    status = 'Succeeded';
  } catch (error) {
    logFailure('new_versions_failed', error, {});
  }
  await codeDeploy.send(
    new PutLifecycleEventHookExecutionStatusCommand({
      deploymentId: DeploymentId,
      lifecycleEventHookExecutionId: LifecycleEventHookExecutionId,
      status,
    }),
  );
}

/** A request to a function, with its route as API Gateway writes it. */
interface Request {
  routeKey: string;
  headers: Record<string, string>;
  pathParameters?: Record<string, string>;
  body?: string;
  /**
   * The status that it must be answered with.
   * @default 200
   */
  status?: number;
}

/**
 * Sends a request to the new version of a function, by its key.
 * @throws Error that names the route, for a wrong answer
 */
type Send = (key: string, request: Request) => Promise<unknown>;

/**
 * Tries the versions until the first problem.
 * @throws Error
 */
async function tryVersions(probe: Probe, send: Send): Promise<void> {
  const ofClient = basic(probe.client_id, probe.client_secret);
  const issueToken = (form: Record<string, string>) => {
    const headers = {
      authorization: ofClient,
      'content-type': 'application/x-www-form-urlencoded',
    };
    const body = String(new URLSearchParams(form));
    return send('issue-token', { routeKey: `POST ${tokenPath}`, headers, body });
  };
  const token = v.parse(tokenSchema, await issueToken({ grant_type: 'client_credentials' }));
  const id_token = await setUpProvider(probe.login_app_id, probe.expires_at);
  const login = await issueToken({ grant_type: 'provider_credentials', provider, id_token });
  const authorization = `Bearer ${v.parse(loginSchema, login).access_token}`;
  const credentials = new Map([
    [basic('CLIENT_ID', 'CLIENT_SECRET'), ofClient],
    [basic('ACCOUNT_ID', 'ACCOUNT_SECRET'), basic(probe.account_id, probe.account_secret)],
    ['Bearer LOGIN_USER_TOKEN', authorization],
  ]);
  const answers = await sendExamples(credentials, String(probe.access_request_id), send);
  const keys = v.parse(keySetSchema, answers.get('list-signing-keys'));
  const found = v.parse(searchSchema, answers.get('search-events'));
  const problem =
    (await tokenProblem(token, keys, { ...probe, issuer: issuer() })) ?? searchProblem(found);
  if (problem !== undefined) throw new Error(problem);
  const routeKey = 'DELETE /v2/marketing/login/user';
  await send('delete-login-user', { routeKey, headers: { authorization }, status: 204 });
}

const loginSchema = v.object({ access_token: v.string(), refresh_token: v.string() });

/**
 * Sends the example request of every endpoint. Only a GET gets the real credentials: the others are
 * to be rejected, so that they leave nothing.
 * @param credentials `Authorization` headers of the probe and its person, by those of the examples
 * @returns the bodies of the answers by the key of the function
 */
async function sendExamples(credentials: Map<string, string>, accessRequestId: string, send: Send) {
  const answers = new Map<string, unknown>();
  for (const [key, request] of Object.entries<Request>(structuredClone(examples))) {
    const { headers, pathParameters } = request;
    const real = credentials.get(headers.authorization ?? '');
    if (real && request.routeKey.startsWith('GET ')) headers.authorization = real;
    if (pathParameters?.access_request_id) pathParameters.access_request_id = accessRequestId;
    answers.set(key, await send(key, request));
  }
  return answers;
}

const answerSchema = v.object({ statusCode: v.number(), body: v.optional(v.string(), 'null') });

/**
 * Invokes a version as API Gateway would (payload format 2.0).
 * @returns the JSON of the body
 * @param abortSignal ends the wait
 */
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
  const { Payload, FunctionError } = await lambda
    .send(invocation, { abortSignal })
    .catch((cause) => {
      throw new Error(`The new version for ${routeKey} gives no answer.`, { cause });
    });
  if (FunctionError)
    throw new Error(`The new version for ${routeKey} does not run: ${FunctionError}.`);
  const { statusCode, body } = v.parse(
    answerSchema,
    JSON.parse(Payload?.transformToString() ?? ''),
  );
  if (statusCode !== status) {
    const answer = `The new version for ${routeKey} answers ${statusCode}, not ${status}.`;
    throw new Error(`${answer}${reasonIn(body)}`);
  }
  return JSON.parse(body || 'null');
}

const errorBodySchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ error: v.string(), error_description: v.string() }),
);

/**
 * The code and description of an error response; nothing of any other answer, which may hold
 * tokens.
 */
function reasonIn(body: string): string {
  const { success, output } = v.safeParse(errorBodySchema, body);
  return success ? ` It says ${output.error}: ${output.error_description}` : '';
}
