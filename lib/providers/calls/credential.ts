import * as v from 'valibot';
import type { LogReason } from '../../foundation/reasons.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import { logEvent } from '../../log/log.ts';
import { type LoginClaims, loginClaimsSchema } from '../../login-users/linked-identity.ts';
import { type Profile, profileSchema } from '../../login-users/profile.ts';
import { isPlaceholder } from '../../schema/placeholders.ts';
import { type ProfileSetting, valueAtPath } from '../settings/fields.ts';
import { ProviderFailure } from './provider-failure.ts';

/** The error for a credential that is rejected. The reason is for the log alone. */
export const rejected = (reason: LogReason) =>
  new ServiceError('invalid_grant', notAccepted, reason);

const notAccepted = 'The provider does not accept this credential for this Login App.';

/**
 * The credential itself.
 * @throws ServiceError unless it is visible ASCII of at most 16 KiB
 * @see RFC 6749 appendix A
 */
export function wellFormedCredential(credential: string): string {
  if (credential.length > 16_384) throw rejected('credential_too_long');
  if (!/^[\x21-\x7e]+$/.test(credential)) throw rejected('credential_malformed');
  return credential;
}

/**
 * The person's id in an answer, as text. Undefined when it is missing, of the other type, empty,
 * longer than 255 characters (OpenID Connect), not well-formed Unicode, a placeholder such as
 * `undefined`, or an integer beyond 2^53, which JSON readers round. `0` may be somebody's id.
 */
export function subjectAt(answer: unknown, path: string, type: 'string' | 'integer' = 'string') {
  const value = valueAtPath(answer, path);
  if (type === 'integer') return Number.isSafeInteger(value) ? String(value) : undefined;
  if (typeof value !== 'string' || !value.isWellFormed() || isPlaceholder(value)) return undefined;
  return value.length > 0 && value.length <= 255 ? value : undefined;
}

/**
 * The person's id in an answer, as `subjectAt` reads it.
 * @throws ProviderFailure when there is none
 */
export function requiredSubject(
  answer: unknown,
  url: string,
  path: string,
  type?: 'string' | 'integer',
) {
  const subject = subjectAt(answer, path, type);
  if (subject === undefined)
    throw new ProviderFailure('unexpected_answer', url, `no usable ${path}`);
  return subject;
}

/**
 * The epoch seconds at which a provider says that the person authenticated; undefined when it does
 * not say so. A time that can't be read counts as long ago, so that no old login passes for a new
 * one.
 */
export function authTimeIn(claims: unknown): number | undefined {
  const told = valueAtPath(claims, 'auth_time') ?? '';
  if (told === '') return undefined;
  const seconds = Math.floor(Number(told));
  return Number.isSafeInteger(seconds) && seconds > 0 ? seconds : 0;
}

/** Unchecked claims of a token about who asked for it and where it may be used. */
interface TokenAudience {
  /** The app that it was issued to; undefined when `aud` names it. */
  client?: unknown;
  /** Text or a list of texts; required without `client`. */
  aud?: unknown;
  /** The authorized party, by each claim that names it. Null is no app. */
  parties: unknown[];
}

/**
 * The audience of a JWT. Each claim that names the app is an authorized party, since `aud` may be
 * an API of other apps, too.
 */
export function audienceIn(claims: object, field: string): TokenAudience {
  const app = valueAtPath(claims, field) ?? null;
  // Claims of OpenID Connect, RFC 9068, Okta, and Entra's v1.0 tokens.
  const named = ['azp', 'client_id', 'cid', 'appid']
    .map((claim) => valueAtPath(claims, claim))
    .filter((value) => value !== undefined);
  return {
    aud: valueAtPath(claims, 'aud') ?? app,
    parties: field === 'aud' ? named : [app, ...named],
  };
}

/**
 * Rejects a token that was issued to another app. Ours must be each authorized party, and the
 * client or else one of the audiences. With several audiences, the token must name an authorized
 * party.
 * @see OpenID Connect Core 1.0, section 3.1.3.7, steps 3 to 5
 */
export function rejectForeign({ client, aud, parties }: TokenAudience, audiences: string[]): void {
  const isOurs = (app: unknown) => typeof app === 'string' && audiences.includes(app);
  const apps: unknown[] = [aud ?? []].flat();
  const areNames = apps.every((app) => typeof app === 'string' && app !== '');
  const isForUs = client === undefined ? apps.some(isOurs) : isOurs(client);
  const isAskedForByUs = parties.length === 0 ? apps.length <= 1 : parties.every(isOurs);
  if (!areNames || !isForUs || !isAskedForByUs) throw rejected('issued_to_another_app');
}

/**
 * The profile that settings name, from a provider's answer or id token; undefined when there is
 * none.
 */
export const profileIn = (answer: unknown, setting: ProfileSetting): Profile | undefined =>
  usable(
    profileSchema,
    Object.entries(setting ?? {}).map(([name, path]) => [name, valueAtPath(answer, path)]),
    'profile_fields_left_out',
  );

/**
 * The claims about a login that settings name, from its id token; undefined when there are none.
 */
export const loginClaimsIn = (
  claims: Record<string, unknown>,
  names: readonly (keyof LoginClaims)[] = [],
) =>
  usable(
    loginClaimsSchema,
    names.map((name) => [name, claims[name]]),
    'login_claims_left_out',
  );

/**
 * The claims that a schema accepts, undefined for none. The names of others are logged: no claim is
 * worth a failed login.
 */
function usable<Claims>(
  schema: v.GenericSchema<unknown, Claims>,
  named: (readonly [name: string, value: unknown])[],
  event: 'profile_fields_left_out' | 'login_claims_left_out',
): Claims | undefined {
  // Null and an empty text mean no claim. @see OpenID Connect Core 1.0, section 5.3.2
  const told = named.filter(([, value]) => value !== undefined && value !== null && value !== '');
  const { issues = [] } = v.safeParse(schema, Object.fromEntries(told));
  const unusable = new Set(issues.map(({ path }) => path?.[0]?.key));
  if (unusable.size > 0) logEvent(event, { fields: [...unusable].join(', ') });
  const left = told.filter(([name]) => !unusable.has(name));
  return left.length > 0 ? v.parse(schema, Object.fromEntries(left)) : undefined;
}
