import { createHmac } from 'node:crypto';
import { errors, type JWTPayload } from 'jose';
import { epochSeconds } from '../../foundation/clock.ts';
import { isOfType } from '../../foundation/media-type.ts';
import type { LogReason } from '../../foundation/reasons.ts';
import type { VerifiedIdentity } from '../../login-users/linked-identity.ts';
import { failForOurApp } from '../calls/app-errors.ts';
import {
  basicAuthorization,
  type ProviderAnswer,
  presentCredential,
} from '../calls/call-provider.ts';
import {
  authTimeIn,
  profileIn,
  rejected,
  rejectForeign,
  requiredSubject,
  subjectAt,
  wellFormedCredential,
} from '../calls/credential.ts';
import { ProviderFailure } from '../calls/provider-failure.ts';
import { authenticated } from '../codes/client-secret.ts';
import { claimsOfIdTokens, reasonOf, trustedIssuerOf, verifiedJwt } from '../jwt/verify-jwt.ts';
import { valueAtPath } from '../settings/fields.ts';
import type { AudienceValidation, OAuth2Settings, UserInfo } from './settings.ts';

type ValidationBy<Method> = Extract<AudienceValidation, { method: Method }>;

/**
 * The person of an access token of our app; undefined if settings are for codes alone.
 * @throws ServiceError, ProviderFailure
 */
export async function verifyAccessToken(
  { namespace, user_info, audience_validation }: OAuth2Settings,
  accessToken: string,
  signal: AbortSignal,
): Promise<VerifiedIdentity | undefined> {
  if (namespace === undefined || !audience_validation) return undefined;
  const token = wellFormedCredential(accessToken);
  if (!user_info) {
    // Only a JWT says by itself whose it is.
    if (audience_validation.method !== 'jwt') return undefined;
    return { namespace, ...(await verifyJwtAccessToken(audience_validation, token)) };
  }
  const [audience, user] = await Promise.allSettled([
    validateAudience(audience_validation, token, signal, user_info),
    askUserInfo(user_info, token, signal),
  ]);
  if (audience.status === 'fulfilled' && user.status === 'fulfilled') {
    const { subject = user.value.subject, auth_time } = audience.value;
    if (subject !== user.value.subject) throw rejected('subject_mismatch');
    return { namespace, ...user.value, auth_time };
  }
  const errors = [audience, user]
    .filter((one) => one.status === 'rejected')
    .map(({ reason }) => reason);
  // A rejection counts, even if the other call gave no verdict.
  const rejection = errors.find((error) => !(error instanceof ProviderFailure));
  // A failure that no credential causes says more than one that a made-up credential could cause.
  throw rejection ?? errors.find(({ status }) => status === undefined) ?? errors[0];
}

/**
 * The subject and the profile at the user info endpoint.
 * @throws ServiceError, ProviderFailure
 */
export async function askUserInfo(userInfo: UserInfo, token: string, signal: AbortSignal) {
  const { url, subject_field, subject_type, profile } = userInfo;
  const accept = userInfo.signature ? signedUserInfo : 'application/json';
  const headers = { authorization: `Bearer ${token}`, accept };
  const answer = await presentCredential({ url: withProof(userInfo, token), headers, signal });
  const { status } = answer;
  if (status !== 200) failForOurApp(userInfo, answer, url);
  if ([400, 401, 403].includes(status)) throw rejected('user_info_refused');
  if (status !== 200) throw new ProviderFailure('unexpected_status', url, String(status), status);
  const claims = await userInfoClaims(userInfo, answer);
  const subject = requiredSubject(claims, url, subject_field, subject_type);
  return { subject, profile: profileIn(claims, profile) };
}

/**
 * The address of the user info, with the proof that the call comes from our app if the settings
 * have a secret for one.
 * @see https://developers.facebook.com/docs/graph-api/securing-requests
 */
function withProof({ url, proof_secret }: UserInfo, token: string): string {
  if (proof_secret === undefined) return url;
  const address = new URL(url);
  const proof = createHmac('sha256', proof_secret).update(token).digest('hex');
  address.searchParams.set('appsecret_proof', proof);
  return address.href;
}

/**
 * The claims of a user info, which is JSON or, for settings with a `signature`, a JWT that the
 * issuer has signed for our app.
 * @throws ServiceError, ProviderFailure
 * @see OpenID Connect Core 1.0, section 5.3.2
 */
async function userInfoClaims(
  { url, signature }: UserInfo,
  { type, body }: ProviderAnswer,
): Promise<unknown> {
  const isSigned = type === signedUserInfo && typeof body === 'string';
  if (signature === undefined) {
    if (!isSigned) return body;
    const detail = `${signedUserInfo}: the settings need user_info.signature`;
    throw new ProviderFailure('unexpected_answer', url, detail);
  }
  if (!isSigned) throw new ProviderFailure('unexpected_answer', url, `no ${signedUserInfo}`);
  try {
    const kind = { types: ['jwt', 'userinfo+jwt'], claims: ['iss', 'aud', 'sub'] };
    const { payload } = await verifiedJwt(signature, body, kind);
    return payload;
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error;
    throw new ProviderFailure('unexpected_answer', url, `user info: ${reasonOf(error)}`);
  }
}

const signedUserInfo = 'application/jwt';

/** Claims about the person that an access token or its provider tells besides the user info. */
interface Told {
  /** Undefined if that of the user info is not comparable. */
  subject?: string | undefined;
  auth_time?: number | undefined;
}

/**
 * Rejects an access token of another app.
 * @see RFC 6749 section 10.16
 */
export async function validateAudience(
  settings: AudienceValidation,
  token: string,
  signal: AbortSignal,
  userInfo: UserInfo | undefined,
): Promise<Told> {
  const isComparable = userInfo?.subject_field === 'sub';
  if (settings.method === 'jwt') {
    const { subject, auth_time } = await verifyJwtAccessToken(settings, token);
    return isComparable ? { subject, auth_time } : { auth_time };
  }
  if (settings.method === 'token_info')
    return { subject: await askTokenInfo(settings, token, signal, userInfo?.subject_type) };
  return introspect(settings, token, signal, isComparable);
}

/** @see RFC 7662 section 2 */
async function introspect(
  settings: ValidationBy<'introspection'>,
  token: string,
  signal: AbortSignal,
  isComparable: boolean,
): Promise<Told> {
  const { url, client_secret, audiences } = settings;
  const form = { token, token_type_hint: 'access_token' };
  const { status, body } = await presentCredential({
    url,
    ...authenticated(settings, client_secret, form),
    signal,
  });
  // They are about our own credentials, whatever the token. @see RFC 7662, section 2.3
  if ([401, 403].includes(status))
    throw new ProviderFailure('refused_our_credentials', url, String(status));
  const active = valueAtPath(body, 'active');
  if (status !== 200 || typeof active !== 'boolean')
    throw new ProviderFailure('unexpected_answer', url, String(status), status);
  if (!active) throw rejected('token_inactive');
  // `client_id` names the app that got the token; without it, `aud` does.
  const clientId = valueAtPath(body, 'client_id') ?? undefined;
  rejectOtherApps(body, clientId === undefined ? 'aud' : 'client_id', audiences, url);
  rejectExpired(body, url);
  const sub = valueAtPath(body, 'sub') ?? null;
  const subject = isComparable && sub !== null ? requiredSubject(body, url, 'sub') : undefined;
  // @see RFC 9470, section 6.2
  return { subject, auth_time: authTimeIn(body) };
}

async function askTokenInfo(
  settings: ValidationBy<'token_info'>,
  token: string,
  signal: AbortSignal,
  subjectType: 'string' | 'integer' | undefined,
): Promise<string | undefined> {
  const { url, valid_field, subject_field } = settings;
  const answer = await presentCredential({ ...tokenInfoCall(settings, token), signal });
  const { status, body } = answer;
  if (status !== 200) failForOurApp(settings, answer, url);
  const hasAppCredential =
    settings.app_token_secret !== undefined || settings.client_secret !== undefined;
  const refusedStatuses = settings.refused_statuses ?? (hasAppCredential ? [] : [400, 401]);
  const error = String(valueAtPath(body, settings.error_field));
  if (refusedStatuses.includes(status) || settings.refused_errors.includes(error))
    throw rejected('token_info_refused');
  if (hasAppCredential && [401, 403].includes(status))
    throw new ProviderFailure('refused_our_credentials', url, String(status));
  // It may be the token that the provider finds malformed.
  if (hasAppCredential && status === 400)
    throw new ProviderFailure('refused_our_credentials', url, String(status), status);
  if (status !== 200) throw new ProviderFailure('unexpected_status', url, String(status), status);
  if (valid_field) {
    const isValid = valueAtPath(body, valid_field);
    if (typeof isValid !== 'boolean')
      throw new ProviderFailure('unexpected_answer', url, `no ${valid_field}`);
    if (!isValid) throw rejected('token_invalid');
  }
  rejectOtherApps(body, settings.audience_field, settings.audiences, url);
  rejectExpired(body, url);
  return subject_field ? requiredSubject(body, url, subject_field, subjectType) : undefined;
}

function tokenInfoCall(settings: ValidationBy<'token_info'>, token: string) {
  const { token_parameter, app_token_parameter, app_token_secret, client_id, client_secret } =
    settings;
  const url = new URL(settings.url);
  if (app_token_parameter && app_token_secret)
    url.searchParams.set(app_token_parameter, app_token_secret);
  const headers =
    client_id && client_secret
      ? { authorization: basicAuthorization(client_id, client_secret) }
      : {};
  if (settings.send_token_as === 'json')
    return { url: url.href, headers, json: { [token_parameter]: token } };
  if (settings.send_token_as === 'bearer')
    return { url: url.href, headers: { authorization: `Bearer ${token}` } };
  url.searchParams.set(token_parameter, token);
  return { url: url.href, headers };
}

/**
 * Rejects a token of another app.
 *
 * An app that the answer names by a field of its own is the one that asked for the token. Then
 * `aud` may list other places at which the token may be used, such as the project of the app.
 * @param field where the answer names the app
 */
function rejectOtherApps(body: unknown, field: string, audiences: string[], url: string): void {
  const app = appIdAsText(valueAtPath(body, field));
  if (!Array.isArray(app) && (typeof app !== 'string' || app === ''))
    throw new ProviderFailure('unexpected_answer', url, 'no app id');
  const aud = appIdAsText(valueAtPath(body, 'aud'));
  const azp = appIdAsText(valueAtPath(body, 'azp'));
  const client = field === 'aud' ? undefined : app;
  const parties = [client, azp].filter((party) => party !== undefined);
  rejectForeign({ client, aud, parties }, audiences);
}

/**
 * An app id, or a list of them, with numbers as text: some providers number apps. A number beyond
 * 2^53 stays one, since JSON readers round it.
 */
function appIdAsText(app: unknown): unknown {
  if (Array.isArray(app)) return app.map((one) => (Array.isArray(one) ? one : appIdAsText(one)));
  return Number.isSafeInteger(app) ? String(app) : app;
}

/**
 * Rejects a token that has expired, by `exp` and `expires_in`. Some providers write numbers as
 * text.
 */
function rejectExpired(body: unknown, url: string): void {
  const end = Number(valueAtPath(body, 'exp') ?? Infinity);
  const secondsLeft = Number(valueAtPath(body, 'expires_in') ?? Infinity);
  if (Number.isNaN(end + secondsLeft))
    throw new ProviderFailure('unexpected_answer', url, 'no usable end');
  if (end <= epochSeconds() || secondsLeft <= 0) throw rejected('token_expired');
}

/**
 * The person of an access token that is a JWT which the issuer has signed for one of our apps.
 * @see RFC 9068 section 4
 */
async function verifyJwtAccessToken(settings: ValidationBy<'jwt'>, token: string) {
  try {
    const { payload, typ } = await verifiedJwt(trustedIssuerOf(token, [settings]), token, {
      types: ['jwt', 'at+jwt'],
      claims: ['exp', 'sub'],
      appField: settings.audience_field,
    });
    if (!isAccessToken(payload, typ)) throw rejected('not_an_access_token');
    const subject = subjectAt(payload, 'sub');
    if (subject === undefined) throw rejected('no_usable_subject');
    return { subject, auth_time: authTimeIn(payload) };
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error;
    const reason = reasonOf(error);
    throw rejected(reasonsOfAccessTokens[reason] ?? reason);
  }
}

/** Counterparts of the reasons that are about id tokens alone. */
const reasonsOfAccessTokens: Partial<Record<LogReason, LogReason>> = {
  id_token_expired: 'token_expired',
  not_an_id_token: 'not_an_access_token',
};

/**
 * Claims of id tokens, security events, tokens bound to a key (RFC 7800) and tokens for another
 * actor (RFC 8693, 4.1).
 */
const foreignClaims = [...claimsOfIdTokens, 'events', 'cnf', 'act'];

/**
 * Whether a JWT says that it is an access token: by its type (RFC 9068), a claim of Keycloak
 * (`typ`) or Cognito (`token_use`), `scp` of Entra and Okta, or `scope` as text, since UAA's id
 * tokens have a list. An id token need not say what it is.
 */
function isAccessToken(claims: JWTPayload, headerType: string): boolean {
  const { typ = 'Bearer', token_use = 'access' } = claims;
  if (foreignClaims.some((claim) => claims[claim] !== undefined)) return false;
  if (typeof typ !== 'string' || !/^bearer$/i.test(typ) || token_use !== 'access') return false;
  return (
    isOfType(headerType, ['at+jwt']) ||
    typeof claims.scope === 'string' ||
    ['typ', 'token_use', 'scp'].some((claim) => claims[claim] !== undefined)
  );
}
