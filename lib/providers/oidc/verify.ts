import { hash } from 'node:crypto';
import { errors, type JWTPayload } from 'jose';
import { epochSeconds } from '../../foundation/clock.ts';
import { definedOnly } from '../../foundation/defined-only.ts';
import { invalid } from '../../foundation/service-error.ts';
import { logEvent } from '../../log/log.ts';
import type { VerifiedIdentity } from '../../login-users/linked-identity.ts';
import { equalInConstantTime } from '../../secrets/secrets.ts';
import { verificationDeadline } from '../calls/call-provider.ts';
import {
  authTimeIn,
  loginClaimsIn,
  profileIn,
  rejected,
  subjectAt,
  wellFormedCredential,
} from '../calls/credential.ts';
import type { CodeExchange } from '../codes/settings.ts';
import { type AuthorizationCode, exchangeCode } from '../codes/token-endpoint.ts';
import { authorityOf, providerSessionOf, type TrustedIssuer } from '../jwt/issuer.ts';
import { prepareIssuerKeys } from '../jwt/issuer-keys.ts';
import {
  claimsOfIdTokens,
  reasonOf,
  rejectedJwt,
  rejectOutdated,
  trustedIssuerOf,
  verifiedJwt,
} from '../jwt/verify-jwt.ts';
import type { ReceivedToken } from '../received-token.ts';
import { isServiceNonce } from '../service-nonce.ts';

/**
 * The person of an id token.
 * @throws ServiceError, ProviderFailure
 * @see OpenID Connect Core 1.0, section 3.1.3.7
 */
export async function verifyIdToken(
  issuers: TrustedIssuer[],
  sent: {
    id_token: string;
    access_token?: string | undefined;
    nonce?: string | undefined;
    /** Whether it comes for the code of another id token, whose nonce was checked. */
    isSecond?: boolean;
  },
): Promise<VerifiedIdentity> {
  const { id_token, access_token, nonce, isSecond = false } = sent;
  try {
    const trusted = trustedIssuerOf(wellFormedCredential(id_token), issuers);
    if (!isSecond) requireNonce(trusted, nonce);
    const { payload, alg } = await verifiedJwt(trusted, id_token, {
      types: ['jwt'],
      claims: ['exp', 'iat', 'sub'],
    });
    rejectOtherKinds(payload);
    const { max_age_seconds: maxAge = defaultMaxAge } = trusted;
    rejectOutdated(payload, maxAge);
    const { iat = 0, exp = 0 } = payload;
    if (exp - iat > Math.max(defaultMaxAge, maxAge)) throw rejected('valid_for_too_long');
    if (!isSecond) rejectOtherNonce(trusted, payload.nonce, nonce);
    if (access_token !== undefined)
      rejectOtherAccessToken(payload, wellFormedCredential(access_token), alg);
    const subject = subjectAt(payload, 'sub');
    if (!subject) throw rejected('no_usable_subject');
    return {
      namespace: authorityOf(trusted),
      subject,
      profile: profileIn(payload, trusted.profile),
      login_claims: loginClaimsIn(withListOfMethods(payload), trusted.login_claims),
      auth_time: authTimeIn(payload),
      session_end: sessionEndIn(payload),
      provider_session: trusted.notifications && providerSessionOf(trusted, payload.sid),
      hook_claims:
        trusted.hook_claims &&
        definedOnly(Object.fromEntries(trusted.hook_claims.map((name) => [name, payload[name]]))),
    };
  } catch (error) {
    throw error instanceof errors.JOSEError ? rejectedJwt(reasonOf(error)) : error;
  }
}

/**
 * The person of a code, which may come beside an id token (`isSecond`).
 * @param received gets the provider's refresh token, if the settings say where it can be revoked
 * @throws ServiceError, ProviderFailure
 * @see OpenID Connect Core 1.0, section 3.1.3
 */
export async function verifyCode(
  exchange: CodeExchange,
  issuer: Omit<TrustedIssuer, 'audiences'>,
  { nonce, isSecond = false, ...code }: AuthorizationCode & { isSecond?: boolean },
  received: ReceivedToken,
  signal = verificationDeadline(),
): Promise<VerifiedIdentity> {
  if (!isSecond) requireNonce(issuer, nonce);
  const keys = prepareIssuerKeys(issuer);
  // They are fetched during the exchange, but its error comes first.
  keys.catch(() => undefined);
  const tokens = await exchangeCode({ ...exchange, id_token: issuer }, code, received, signal);
  const { id_token = '', access_token } = tokens;
  await keys;
  const trusted = [{ ...issuer, audiences: [exchange.client_id] }];
  return verifyIdToken(trusted, { id_token, access_token, nonce, isSecond });
}

/**
 * Rejects logout tokens and access tokens, which the same keys sign. Those of Entra and Okta have
 * `scp`.
 */
function rejectOtherKinds(claims: JWTPayload): void {
  const { events, scp, typ = 'ID', token_use = 'id' } = claims;
  const isOfTypeId = typeof typ === 'string' && /^(id|jwt)$/i.test(typ);
  const isIdToken = events === undefined && scp === undefined && isOfTypeId && token_use === 'id';
  if (!isIdToken || hasScopeOfAccessToken(claims)) throw rejected('not_an_id_token');
}

/**
 * Whether a token has a `scope`, and no claim that only id tokens have. `auth_time`, `sid`,
 * `email`, `acr` and `amr` don't count: FusionAuth and authentik have them in access tokens. Beside
 * a list, as in older id tokens of UAA, `acr` and `amr` do.
 */
function hasScopeOfAccessToken(claims: JWTPayload): boolean {
  const telling = Array.isArray(claims.scope)
    ? [...claimsOfIdTokens, 'acr', 'amr']
    : claimsOfIdTokens;
  return claims.scope !== undefined && telling.every((claim) => claims[claim] === undefined);
}

/**
 * The most seconds for which an id token counts and is valid, unless its issuer's settings say
 * otherwise.
 */
const defaultMaxAge = 86_400;

/**
 * Epoch seconds at which the session at the provider ends, and ours with it; undefined where it
 * does not say so.
 * @throws ServiceError when it is over
 * @see IPSIE OpenID Connect SL1 profile, `session_expiry`
 */
function sessionEndIn({ session_expiry: told }: JWTPayload): number | undefined {
  if (told === undefined || told === null) return undefined;
  const end = typeof told === 'number' ? Math.floor(told) : undefined;
  // The store takes no number that is less than exact.
  if (end === undefined || !Number.isSafeInteger(end)) {
    logEvent('login_claims_left_out', { fields: 'session_expiry' });
    return undefined;
  }
  if (end <= epochSeconds()) throw rejected('provider_session_over');
  return end;
}

/** The claims with `amr` as a list. Some issuers write a single method as text. */
function withListOfMethods(claims: JWTPayload): JWTPayload {
  const { amr } = claims;
  return typeof amr === 'string' && amr !== '' ? { ...claims, amr: [amr] } : claims;
}

/** @throws ServiceError when the issuer's settings require a nonce, and the request has none */
function requireNonce(
  { nonce: rule }: Pick<TrustedIssuer, 'nonce'>,
  nonce: string | undefined,
): void {
  if (rule === 'required' && nonce === undefined)
    throw invalid('The parameter nonce is required for this issuer.');
}

/**
 * Rejects an id token without the nonce of the request, literally or as its SHA-256 in hex or
 * base64url: iOS apps send the hash to the provider. Where the form that counts is the hash,
 * whoever has seen a token could send that as the nonce.
 * @see OpenID Connect Core 1.0, section 15.5.2
 */
function rejectOtherNonce(
  { nonce_form: form = 'either' }: TrustedIssuer,
  claim: unknown,
  nonce?: string,
) {
  if (nonce === undefined) return requireOwnNonce(form, claim);
  if (form !== 'sha256' && claim === nonce) return;
  const digest = hash('sha256', nonce, 'buffer');
  const isHash =
    typeof claim === 'string' &&
    (claim === digest.toString('base64url') || claim.toLowerCase() === digest.toString('hex'));
  if (form === 'plain' || !isHash) throw rejected('nonce_mismatch');
}

/**
 * Accepts any nonce where the request has none, since some SDKs add one on their own. But a token
 * with a nonce of the service was made to count with it alone. A hash doesn't tell whose it is.
 * @throws ServiceError `invalid_request`
 */
function requireOwnNonce(form: TrustedIssuer['nonce_form'], claim: unknown): void {
  const isHash = form === 'sha256' && claim !== undefined;
  if (isHash || isServiceNonce(claim))
    throw invalid('The parameter nonce is required: this id token counts with its nonce alone.');
}

/**
 * Rejects an id token whose `at_hash` is that of another access token.
 * @see OpenID Connect Core 1.0, section 3.1.3.8
 */
function rejectOtherAccessToken({ at_hash }: JWTPayload, accessToken: string, alg: string): void {
  if (at_hash === undefined) return;
  const digest = hash(
    alg.startsWith('Ed') ? 'sha512' : `sha${alg.slice(-3)}`,
    accessToken,
    'buffer',
  );
  const expected = digest.subarray(0, digest.length / 2).toString('base64url');
  const told = typeof at_hash === 'string' ? withoutPadding(at_hash) : '';
  if (!equalInConstantTime(told, expected)) throw rejected('other_access_token');
}

/** Base64url of a text that may be base64, or padded, as some issuers write a hash. */
const withoutPadding = (text: string): string =>
  text
    .replace(/={1,2}$/, '')
    .replaceAll('+', '-')
    .replaceAll('/', '_');
