import {
  CodeDeployClient,
  PutLifecycleEventHookExecutionStatusCommand,
} from '@aws-sdk/client-codedeploy';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import * as v from 'valibot';
import { requestTimeouts } from '../foundation/aws-client.ts';
import { directInvocation } from '../foundation/direct-invocation.ts';
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

/** Milliseconds that are kept for the removal of the probe and the report to CodeDeploy. */
const timeForReport = 10_000;
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
 * @param remaining tells the milliseconds that the function may still run
 */
export async function checkNewVersions(event: unknown, remaining: () => number): Promise<void> {
  const { DeploymentId, LifecycleEventHookExecutionId } = v.parse(hookEventSchema, event);
  const milliseconds = remaining() - timeForReport;
  let status: 'Succeeded' | 'Failed' = 'Failed';
  try {
    await tryInTime(milliseconds);
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

/**
 * Tries the versions with a probe, and removes it.
 * @param milliseconds the time for all requests
 * @throws Error for the first problem, or when the time is up
 */
async function tryInTime(milliseconds: number): Promise<void> {
  // No request begins in the last 20 seconds, so that each is over when the probe is removed.
  const lastRequest = AbortSignal.timeout(milliseconds - longestRequest);
  const end = AbortSignal.timeout(milliseconds);
  const send: Send = async (key, request) => {
    if (lastRequest.aborted) throw new Error('The time for the check is up.');
    return invokeVersion(key, request, end);
  };

  const problem = await formatProblem();
  if (problem !== undefined) throw new Error(problem);
  const probe = await createProbe();
  try {
    await tryVersions(probe, send);
  } finally {
    // A login may still be under way when the time is up.
    const blockedUntil = end.aborted ? probe.expires_at : undefined;
    await removeProbe(probe.login_app_id, probe.account_id, blockedUntil);
  }
  logEvent('new_versions_checked', {});
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
  const asClient = basic(probe.client_id, probe.client_secret);
  const asAccount = basic(probe.account_id, probe.account_secret);
  const issueToken = (form: Record<string, string>) =>
    send('issue-token', {
      routeKey: `POST ${tokenPath}`,
      headers: {
        authorization: asClient,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: String(new URLSearchParams(form)),
    });

  // 1. The client gets a token, and the probe's person logs in.
  const token = v.parse(tokenSchema, await issueToken({ grant_type: 'client_credentials' }));
  const id_token = await setUpProvider(probe.login_app_id, probe.expires_at);
  const loginAnswer = await issueToken({ grant_type: 'provider_credentials', provider, id_token });
  const login = v.parse(loginSchema, loginAnswer);
  const asPerson = `Bearer ${login.access_token}`;

  // 2. Every endpoint answers its example.
  const credentials = new Map([
    [basic('CLIENT_ID', 'CLIENT_SECRET'), asClient],
    [basic('ACCOUNT_ID', 'ACCOUNT_SECRET'), asAccount],
    ['Bearer LOGIN_USER_TOKEN', asPerson],
  ]);
  const answers = await sendExamples(credentials, String(probe.access_request_id), send);

  // 3. Verifiers accept the token, and the search finds nothing.
  const keys = v.parse(keySetSchema, answers.get('list-signing-keys'));
  const found = v.parse(searchSchema, answers.get('search-events'));
  const problemOfToken = await tokenProblem(token, keys, { ...probe, issuer: issuer() });
  const problem = problemOfToken ?? searchProblem(found);
  if (problem !== undefined) throw new Error(problem);

  // 4. The person can delete their Login User.
  await send('delete-login-user', {
    routeKey: 'DELETE /v2/marketing/login/user',
    headers: { authorization: asPerson },
    status: 204,
  });
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
  const requests = Object.entries<Request>(structuredClone(examples));
  for (const [key, request] of requests) {
    const { routeKey, headers, pathParameters } = request;
    const isGet = routeKey.startsWith('GET ');
    const ofProbe = credentials.get(headers.authorization ?? '');
    if (isGet && ofProbe) headers.authorization = ofProbe;
    if (pathParameters?.access_request_id) pathParameters.access_request_id = accessRequestId;
    answers.set(key, await send(key, request));
  }
  return answers;
}

const answerSchema = v.object({ statusCode: v.number(), body: v.optional(v.string(), 'null') });

/**
 * Sends a request to the new version of a function.
 * @param abortSignal ends the wait
 * @returns the JSON of the body
 * @throws Error that names the route, for a wrong answer or none
 */
async function invokeVersion(key: string, request: Request, abortSignal: AbortSignal) {
  const { status: expected = 200, ...fields } = request;
  const { routeKey } = request;
  // As API Gateway would send it, in the payload format 2.0.
  const event = {
    version: '2.0',
    rawQueryString: '',
    requestContext: { apiId: directInvocation, requestId: 'check-new-versions', routeKey },
    isBase64Encoded: false,
    ...fields,
  };
  const invocation = new InvokeCommand({
    FunctionName: versionOf(key),
    Payload: JSON.stringify(event),
  });
  const sent = lambda.send(invocation, { abortSignal });
  const { Payload, FunctionError } = await sent.catch((cause) => {
    throw new Error(`The new version for ${routeKey} gives no answer.`, { cause });
  });
  if (FunctionError)
    throw new Error(`The new version for ${routeKey} does not run: ${FunctionError}.`);

  const json = Payload?.transformToString() ?? '';
  const { statusCode, body } = v.parse(answerSchema, JSON.parse(json));
  if (statusCode !== expected) {
    const problem = `The new version for ${routeKey} answers ${statusCode}, not ${expected}.`;
    throw new Error(`${problem}${errorIn(body)}`);
  }
  return JSON.parse(body || 'null');
}

/**
 * The name and version of a function by its key, from the list in `NEW_VERSIONS`.
 * @throws Error
 */
function versionOf(key: string): string {
  const beginning = `${key}=`;
  const entry = newVersions()
    .split(' ')
    .find((one) => one.startsWith(beginning));
  if (entry === undefined) throw new Error(`There is no new version of ${key}.`);
  return entry.slice(beginning.length);
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
function errorIn(body: string): string {
  const { success, output } = v.safeParse(errorBodySchema, body);
  return success ? ` It says ${output.error}: ${output.error_description}` : '';
}
