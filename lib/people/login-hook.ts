import * as v from 'valibot';
import { requestSigner } from '../foundation/aws-signature.ts';
import { optionalEnvironment, optionalEnvironmentSeconds } from '../foundation/environment.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { logEvent, logFailure } from '../log/log.ts';
import type { VerifiedIdentity } from '../login-users/linked-identity.ts';
import type { AuthenticatedUser } from '../login-users/login-user.ts';
import { readText, responseTo } from '../providers/calls/call-provider.ts';
import { type ProviderId, protocolNames } from '../providers/provider-ids.ts';
import { jsonObject } from '../schema/validation.ts';
import { documentClient } from '../storage/client.ts';
import { probeIds } from '../storage/probe-ids.ts';

/** The name or ARN of the owner's Lambda function or alias; undefined without a login hook. */
const functionName = (): string | undefined => optionalEnvironment('LOGIN_HOOK');
/**
 * Seconds to wait for an answer.
 * @default 3
 */
const hookSeconds = optionalEnvironmentSeconds('LOGIN_HOOK_SECONDS', 3);

/**
 * Whether a login hook decides about the logins of a Login App. Checks of new versions don't ask
 * it: they log nobody in.
 */
export const hasLoginHook = (loginAppId: string): boolean =>
  functionName() !== undefined && !loginAppId.startsWith(probeIds.loginApp);

/** Whether refreshes keep the claims of the login and don't ask again. */
export const asksAtLoginOnly = (): boolean => optionalEnvironment('LOGIN_HOOK_ON') === 'login';

const reserved =
  'iss sub aud exp iat nbf jti client_id sid scope token_use auth_time acr amr azp cnf act may_act nonce events sub_id typ at_hash c_hash authorization_details ext_id active token_type username';
/** Claims that an answer must not set: the service or a specification gives them a meaning. */
export const reservedClaims = new Set(reserved.split(' '));

const mostBytes = 2048;

export type HookClaims = Record<string, unknown>;

export const hookClaimsIn = (stored: string | undefined): HookClaims => JSON.parse(stored ?? '{}');

const namesNoReserved = (claims: object) =>
  Object.keys(claims).every((name) => !reservedClaims.has(name));
const isShort = (claims: object) => Buffer.byteLength(JSON.stringify(claims)) <= mostBytes;
const claimsSchema = v.pipe(
  jsonObject('must be an object'),
  v.record(v.string(), v.unknown()),
  v.check(namesNoReserved, 'names a reserved claim'),
  v.check(isShort, `takes more than ${mostBytes} bytes`),
);

/** The answer of a login hook; strict, since a misspelled `deny` must let nobody in. */
const answerSchema = v.pipe(
  v.string('is longer than 64 KiB'),
  v.parseJson(undefined, 'is no JSON'),
  // A list passes as an object without members.
  jsonObject('must be an object'),
  v.strictObject({
    deny: v.optional(v.boolean('must be true or false')),
    reason: v.optional(v.string('must be text')),
    claims: v.optional(claimsSchema),
  }),
);

interface HookEvent {
  event: 'login' | 'link' | 'refresh';
  login_app_id: string;
  login_user_id: string;
  external_id: string | undefined;
  /** Whether the login creates the person. */
  first_login?: boolean;
  client_id: string;
  /** Absent at a login, whose session begins afterwards. */
  session_id?: string;
  /** The claims that the session has had so far. */
  previous_claims?: HookClaims;
}
type HookIdentity = VerifiedIdentity & { provider: ProviderId };

/**
 * Asks the owner's Lambda function about a login, a link or a refresh that is verified and not
 * stored yet.
 * @param identity absent at a refresh if the person has unlinked it
 * @returns the claims for the access tokens of the session, in JSON; undefined for none
 * @throws ServiceError `invalid_grant` when the function refuses; Error when it fails, takes too
 *   long or gives an invalid answer
 */
export async function askLoginHook(
  event: HookEvent,
  identity?: HookIdentity,
): Promise<string | undefined> {
  const { first_login = false, previous_claims = {}, ...about } = event;
  const claims = identity?.hook_claims ?? {};
  const seen = identity && shown(identity);
  const told = { version: 1, ...about, first_login, ...seen, claims, previous_claims };
  const answer = await invoke(told).catch((error) => {
    logFailure('login_hook_failed', error, { hook_event: event.event });
    throw error;
  });
  if (!answer.deny) return JSON.stringify(answer.claims);
  logEvent('login_hook_denied', { hook_event: event.event, told: answer.reason });
  throw new ServiceError('invalid_grant', 'The login was refused.', 'denied_by_hook');
}

/**
 * Asks about an identity that a person links.
 * @throws ServiceError `invalid_grant` when the hook refuses
 */
export async function askAboutLink(
  { login_app_id, login_user_id, session_id, client_id, user }: AuthenticatedUser,
  provider: ProviderId,
  verified: VerifiedIdentity,
): Promise<void> {
  if (!hasLoginHook(login_app_id)) return;
  const about = {
    login_app_id,
    login_user_id,
    external_id: user?.external_id,
    session_id,
    client_id,
  };
  await askLoginHook({ event: 'link', ...about }, { provider, ...verified });
}

const shown = ({ provider, namespace, subject, profile }: HookIdentity) => ({
  provider,
  identity: { [protocolNames[provider] === 'oidc' ? 'issuer' : 'namespace']: namespace, subject },
  profile: profile ?? {},
});

let sign: ReturnType<typeof requestSigner> | undefined;

/**
 * Invokes the owner's function once, since it may have effects: on a connection of its own, which
 * can't have died while Lambda had frozen the instance. The SDK's client would enlarge the bundle
 * by half.
 */
async function invoke(event: object): Promise<v.InferOutput<typeof answerSchema>> {
  const { text, status, fault } = await sendEvent(event);
  if (fault !== undefined) throw new Error(`The login hook failed: ${fault}.`);
  if (status !== 200) throw new Error(`The login hook failed: Lambda answers with ${status}.`);
  const answer = v.safeParse(answerSchema, text);
  if (answer.success) return answer.output;
  const [issue] = answer.issues;
  throw new Error(
    `The login hook gave an invalid answer: ${v.getDotPath(issue) ?? 'it'} ${issue.message}.`,
  );
}

/** Sends an event to Lambda. A fault is that of the function itself. */
async function sendEvent(event: object) {
  const { url, headers } = await signedCall(event);
  const seconds = hookSeconds();
  const signal = AbortSignal.timeout(seconds * 1000);
  try {
    const response = await responseTo({ url, headers, json: event, signal });
    const fault = response.headers['x-amz-function-error'];
    return { text: await readText(response), status: response.statusCode, fault };
  } catch (cause) {
    if (signal.aborted)
      throw new Error(`The login hook did not answer within ${seconds} s.`, { cause });
    throw new Error('The login hook failed: there was no answer from Lambda.', { cause });
  }
}

async function signedCall(event: object) {
  const { config } = documentClient;
  const region = await config.region();
  const address =
    optionalEnvironment('AWS_ENDPOINT_URL_LAMBDA') ?? `https://lambda.${region}.amazonaws.com`;
  const { origin, host } = new URL(address);
  const path = `/2015-03-31/functions/${encodeURIComponent(functionName() ?? '')}/invocations`;
  const body = JSON.stringify(event);
  const time = new Date(Date.now() + config.systemClockOffset);
  sign ??= requestSigner(region, 'lambda');
  const request = { host, path, contentType: 'application/json', body, time };
  return { url: `${origin}${path}`, headers: sign(request, await config.credentials()) };
}
