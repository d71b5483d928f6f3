import * as v from 'valibot';
import type { LogReason } from '../foundation/reasons.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { logEvent } from '../log/log.ts';
import { type LoginClaims, loginClaimsSchema } from '../login-users/linked-identity.ts';
import { type Profile, profileSchema } from '../login-users/profile.ts';
import { ProviderFailure } from './provider-failure.ts';
import { type ProfileSetting, valueAtPath } from './settings/fields.ts';

/** The error for a credential that the provider or our own validation rejects. The reason is for the log alone. */
export const rejected = (reason: LogReason): ServiceError =>
  new ServiceError('invalid_grant', notAccepted, reason);

const notAccepted = 'The provider does not accept this credential for this Login App.';

/** Returns a credential that is visible ASCII and of a possible length. @throws ServiceError for another @see RFC 6749 appendix A */
export function wellFormedCredential(credential: string): string {
  if (credential.length > 16_384) throw rejected('credential_too_long');
  if (!/^[\x21-\x7e]+$/.test(credential)) throw rejected('credential_malformed');
  return credential;
}

/**
 * The person's id in an answer, as text. Undefined when it is missing, of the other type, empty, longer than the 255 characters
 * of OpenID Connect, or not well-formed Unicode, which no store keeps. Nor is an integer beyond 2^53 an id: JSON readers round
 * it, so two people could share it.
 */
export function subjectAt(answer: unknown, path: string, type: 'string' | 'integer' = 'string') {
  const value = valueAtPath(answer, path);
  if (type === 'integer') return Number.isSafeInteger(value) ? String(value) : undefined;
  if (typeof value !== 'string' || !value.isWellFormed()) return undefined;
  return value.length > 0 && value.length <= 255 ? value : undefined;
}

/** The person's id in an answer, as text. @throws ProviderFailure for an answer without a usable one */
export function requiredSubject(answer: unknown, url: string, path: string, type?: 'string' | 'integer') {
  const subject = subjectAt(answer, path, type);
  if (subject === undefined) throw new ProviderFailure('unexpected_answer', url, `no usable ${path}`);
  return subject;
}

/** Claims of a token about who asked for it and where it may be used, as the provider sent them: unchecked. */
interface TokenAudience {
  /** The one app that it was issued to; undefined when `aud` names it. */
  client?: unknown;
  /** Text or a list of texts; may be missing only beside `client`. */
  aud?: unknown;
  /** The authorized party, from each claim that names it. Null is no app. */
  parties: unknown[];
}

/** Claims for the app that a JWT was issued to: of OpenID Connect, of RFC 9068, of Okta, and of Entra's v1.0 tokens. */
const appClaims = ['azp', 'client_id', 'cid', 'appid'];

/**
 * The audience of a JWT, with the app that it was issued to in a `field`. Its `aud` may be an API that other apps call, too, so
 * whatever claim names the app counts as the authorized party.
 */
export function audienceIn(claims: object, field: string): TokenAudience {
  const app = valueAtPath(claims, field) ?? null;
  const named = appClaims.map((claim) => valueAtPath(claims, claim)).filter((value) => value !== undefined);
  return { aud: valueAtPath(claims, 'aud') ?? app, parties: field === 'aud' ? named : [app, ...named] };
}

/**
 * Rejects a token that was issued to another app: the authorized party must be ours, by each claim that names it, and so must
 * the client or else one of the audiences. With several audiences there must be an authorized party, or nobody could tell which
 * of them asked for the token.
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

/** The profile that settings name, from a provider's answer or id token; undefined when there is none. */
export const profileIn = (answer: unknown, setting: ProfileSetting): Profile | undefined =>
  usable(
    profileSchema,
    Object.entries(setting ?? {}).map(([name, path]) => [name, valueAtPath(answer, path)]),
    (fields) => logEvent('profile_fields_left_out', { fields }),
  );

/** The claims about a login that settings name, from its id token; undefined when there are none. */
export const loginClaimsIn = (
  claims: Record<string, unknown>,
  names: readonly (keyof LoginClaims)[] = [],
): LoginClaims | undefined =>
  usable(
    loginClaimsSchema,
    names.map((name) => [name, claims[name]]),
    (fields) => logEvent('login_claims_left_out', { fields }),
  );

/** The claims that a schema accepts, undefined for none. Others are logged by their names: no claim is worth a login that fails. */
function usable<Claims>(
  schema: v.GenericSchema<unknown, Claims>,
  named: (readonly [name: string, value: unknown])[],
  log: (leftOut: string) => void,
): Claims | undefined {
  // Null and an empty text stand for no claim. @see OpenID Connect Core 1.0, section 5.3.2
  const told = named.filter(([, value]) => value !== undefined && value !== null && value !== '');
  const { issues = [] } = v.safeParse(schema, Object.fromEntries(told));
  const unusable = new Set(issues.map(({ path }) => path?.[0]?.key));
  if (unusable.size > 0) log([...unusable].join(', '));
  const left = told.filter(([name]) => !unusable.has(name));
  return left.length > 0 ? v.parse(schema, Object.fromEntries(left)) : undefined;
}
