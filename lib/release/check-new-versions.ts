import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import * as v from 'valibot';
import { requestTimeouts } from '../foundation/aws-client.ts';
import { directInvocation } from '../foundation/direct-invocation.ts';
import { logEvent, logFailure } from '../log/log.ts';
import { formatProblem } from '../storage/table-format.ts';
import { issuer, tokenPath } from '../tokens/issuer.ts';
import { answerCloudFormation, isUpdating } from './cloudformation.ts';
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

/** A version has ten seconds for a request, and as many for its start. */
const lambda = new LambdaClient(requestTimeouts(3, 25_000));

/** Milliseconds that are kept for the removal of the probe and the response. */
const timeForReport = 10_000;
/** Milliseconds of a request at most: the start of a version, and the timeout of a function. */
const longestRequest = 20_000;

/** `NAME:VERSION` of each function that serves requests, by its key. */
const versionsSchema = v.record(v.string(), v.string());
type Versions = v.InferOutput<typeof versionsSchema>;
const propertiesSchema = v.object({ Versions: versionsSchema });

/** The reason why new versions don't work. It holds nothing of an answer that may hold tokens. */
class TrialProblem extends Error {}

const seeLog = 'Read the log of check-new-versions.';

/**
 * A custom resource that tries the new versions of an update before any of them gets a request.
 * With few requests, the alarm on five failed ones would come too late. There is no trial when a
 * stack is created: nobody sends it requests.
 * @param remaining tells the milliseconds that the function may still run
 * @throws the error of a permission that is missing: Lambda then tries again twice, which one that
 *   has just been given may need
 */
export const checkNewVersions = (event: unknown, remaining: () => number): Promise<void> =>
  answerCloudFormation(event, async (properties, stackId) => {
    const { Versions } = v.parse(propertiesSchema, properties);
    if (!(await isUpdating(stackId))) return undefined;
    try {
      await tryInTime(Versions, remaining() - timeForReport);
      return undefined;
    } catch (error) {
      if (isDenied(error)) throw error;
      logFailure('new_versions_failed', error, {});
      return error instanceof TrialProblem
        ? `${error.message} ${seeLog}`
        : `The new versions could not be tried. ${seeLog}`;
    }
  });

const isDenied = (error: unknown): boolean =>
  error instanceof Error && error.name === 'AccessDeniedException';

/**
 * Tries the versions with a probe, and removes it.
 * @param milliseconds the time for all requests
 * @throws Error for the first problem, or when the time is up
 */
async function tryInTime(versions: Versions, milliseconds: number): Promise<void> {
  // No request begins in the last 20 seconds, so that each is over when the probe is removed.
  const lastRequest = AbortSignal.timeout(milliseconds - longestRequest);
  const end = AbortSignal.timeout(milliseconds);
  const send: Send = async (key, request) => {
    if (lastRequest.aborted) throw new TrialProblem('The time for the check is up.');
    const name = versions[key];
    if (name === undefined) throw new TrialProblem(`There is no new version of ${key}.`);
    return invokeVersion(name, request, end);
  };

  const problem = await formatProblem();
  if (problem !== undefined) throw new TrialProblem(problem);
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
  if (problem !== undefined) throw new TrialProblem(problem);

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
 * @param name `NAME:VERSION`
 * @param abortSignal ends the wait
 * @returns the JSON of the body
 * @throws Error that names the route, for a wrong answer or none
 */
async function invokeVersion(name: string, request: Request, abortSignal: AbortSignal) {
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
    FunctionName: name,
    Payload: JSON.stringify(event),
  });
  const sent = lambda.send(invocation, { abortSignal });
  const { Payload, FunctionError } = await sent.catch((cause) => {
    if (isDenied(cause)) throw cause;
    throw new TrialProblem(`The new version for ${routeKey} gives no answer.`, { cause });
  });
  if (FunctionError)
    throw new TrialProblem(`The new version for ${routeKey} does not run: ${FunctionError}.`);

  const json = Payload?.transformToString() ?? '';
  const { statusCode, body } = v.parse(answerSchema, JSON.parse(json));
  if (statusCode !== expected) {
    const problem = `The new version for ${routeKey} answers ${statusCode}, not ${expected}.`;
    throw new TrialProblem(`${problem}${errorIn(body)}`);
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
function errorIn(body: string): string {
  const { success, output } = v.safeParse(errorBodySchema, body);
  return success ? ` It says ${output.error}: ${output.error_description}` : '';
}
