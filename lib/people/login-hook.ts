import * as v from 'valibot';
import { optionalEnvironment, optionalEnvironmentSeconds } from '../foundation/environment.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { logEvent, logFailure } from '../log/log.ts';
import type { VerifiedIdentity } from '../login-users/linked-identity.ts';
import { type AuthenticatedUser, guestClaim } from '../login-users/login-user.ts';
import { type ProviderId, protocolNames } from '../providers/provider-ids.ts';
import { jsonObject } from '../schema/validation.ts';
import { probeIds } from '../storage/probe-ids.ts';
import { invokeOnce } from './invoke-once.ts';

/** The name or ARN of the owner's Lambda function or alias; undefined without a login hook. */
const functionName = (): string | undefined => optionalEnvironment('LOGIN_HOOK');
/**
 * Seconds to wait for an answer.
 * @default 3
 */
const hookSeconds = optionalEnvironmentSeconds('LOGIN_HOOK_SECONDS', 3);

/** Whether a Login App exists only for a check of new versions, which logs nobody in. */
const isProbe = (loginAppId: string): boolean => loginAppId.startsWith(probeIds.loginApp);

/** Whether a login hook decides about the logins of a Login App. */
export const hasLoginHook = (loginAppId: string): boolean =>
  functionName() !== undefined && !isProbe(loginAppId);

/** Whether refreshes keep the claims of the login and don't ask again. */
export const asksAtLoginOnly = (): boolean => optionalEnvironment('LOGIN_HOOK_ON') === 'login';

/** Claims that an answer must not set: the service or a specification gives them a meaning. */
export const reservedClaims = new Set([
  'iss',
  'sub',
  'aud',
  'exp',
  'iat',
  'nbf',
  'jti',
  'client_id',
  'sid',
  'scope',
  'token_use',
  'auth_time',
  'acr',
  'amr',
  'azp',
  'cnf',
  'act',
  'may_act',
  'nonce',
  'events',
  'sub_id',
  'typ',
  'at_hash',
  'c_hash',
  'authorization_details',
  'ext_id',
  'active',
  'token_type',
  'username',
]);

/** The most bytes of an answer's claims in JSON, which each token carries. */
const mostBytes = 2048;

export type HookClaims = Record<string, unknown>;

export const hookClaimsIn = (stored: string | undefined): HookClaims => JSON.parse(stored ?? '{}');

const hasNoReservedClaim = (claims: object): boolean =>
  Object.keys(claims).every((name) => !reservedClaims.has(name));

const isShort = (claims: object): boolean => Buffer.byteLength(JSON.stringify(claims)) <= mostBytes;

const claimsSchema = v.pipe(
  jsonObject('must be an object'),
  v.record(v.string(), v.unknown()),
  v.check(hasNoReservedClaim, 'names a reserved claim'),
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
  /** Set for a guest. */
  guest?: true | undefined;
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
 * @param identity absent for a guest, and at a refresh if the person has unlinked it
 * @returns the claims for the access tokens of the session, in JSON; undefined for none
 * @throws ServiceError `invalid_grant` when the function refuses; Error when it fails, takes too
 *   long or gives an invalid answer
 */
export async function askLoginHook(
  event: HookEvent,
  identity?: HookIdentity,
): Promise<string | undefined> {
  const { event: hook_event } = event;
  const startedAt = performance.now();
  const answer = await invoke(payloadOf(event, identity))
    .catch((error) => {
      logFailure('login_hook_failed', error, { hook_event });
      throw error;
    })
    .finally(() => {
      const milliseconds = Math.round(performance.now() - startedAt);
      logEvent('login_hook_called', { hook_event, milliseconds });
    });
  if (!answer.deny) return JSON.stringify(answer.claims);
  logEvent('login_hook_denied', { hook_event, told: answer.reason });
  throw new ServiceError('invalid_grant', 'The login was refused.', 'denied_by_hook');
}

/**
 * Finds out, at the login of a check of new versions, whether this version may invoke the login
 * hook: its own role must have the right, and the function must let it. The hook does not run.
 * @throws ServiceError `temporarily_unavailable` that says why the version may not
 */
export async function tryLoginHook(loginAppId: string): Promise<void> {
  const name = functionName();
  if (name === undefined || !isProbe(loginAppId)) return;
  const { status, refusal = '' } = await invokeOnce(name, {}, hookSeconds(), 'DryRun').catch(
    ({ message }: Error) => {
      throw new ServiceError('temporarily_unavailable', message);
    },
  );
  if (status === 204) return;
  const answer = [status, refusal].join(' ').trim();
  const problem = `This version may not invoke the login hook ${name}: Lambda answers with ${answer}.`;
  throw new ServiceError('temporarily_unavailable', problem);
}

/**
 * Asks about an identity that a person links.
 * @throws ServiceError `invalid_grant` when the hook refuses
 */
export async function askAboutLink(
  caller: AuthenticatedUser,
  provider: ProviderId,
  verified: VerifiedIdentity,
): Promise<void> {
  if (!hasLoginHook(caller.login_app_id)) return;
  const event = {
    event: 'link',
    login_app_id: caller.login_app_id,
    login_user_id: caller.login_user_id,
    external_id: caller.user?.external_id,
    guest: caller.user && guestClaim(caller.user),
    session_id: caller.session_id,
    client_id: caller.client_id,
  } as const;
  await askLoginHook(event, { provider, ...verified });
}

/** The payload of an invocation, which `docs/login-hook.md` describes. */
function payloadOf(event: HookEvent, identity: HookIdentity | undefined) {
  const { first_login = false, previous_claims = {}, ...about } = event;
  const claims = identity?.hook_claims ?? {};
  const shown = identity && shownIdentity(identity);
  return { version: 1, ...about, first_login, ...shown, claims, previous_claims };
}

/** An identity as the owner's function sees it. */
function shownIdentity({ provider, namespace, subject, profile = {} }: HookIdentity) {
  const isOidc = protocolNames[provider] === 'oidc';
  const identity = isOidc ? { issuer: namespace, subject } : { namespace, subject };
  return { provider, identity, profile };
}

/** @throws Error when the function fails, takes too long or gives an invalid answer */
async function invoke(payload: object): Promise<v.InferOutput<typeof answerSchema>> {
  const { text, status, fault } = await invokeOnce(functionName() ?? '', payload, hookSeconds());
  if (fault !== undefined) throw new Error(`The login hook failed: ${fault}.`);
  if (status !== 200) throw new Error(`The login hook failed: Lambda answers with ${status}.`);
  const answer = v.safeParse(answerSchema, text);
  if (answer.success) return answer.output;
  const [issue] = answer.issues;
  const part = v.getDotPath(issue) ?? 'it';
  throw new Error(`The login hook gave an invalid answer: ${part} ${issue.message}.`);
}
