import { hash } from 'node:crypto';
import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose';
import { clock, epochSeconds } from '../../foundation/clock.ts';
import { definedOnly } from '../../foundation/defined-only.ts';
import { isOfType } from '../../foundation/media-type.ts';
import type { LogReason } from '../../foundation/reasons.ts';
import { invalid } from '../../foundation/service-error.ts';
import type { VerifiedIdentity } from '../../login-users/linked-identity.ts';
import { equalInConstantTime } from '../../secrets/secrets.ts';
import { hashOf } from '../../storage/keys.ts';
import {
  audienceIn,
  authTimeIn,
  loginClaimsIn,
  profileIn,
  rejected,
  rejectForeign,
  subjectAt,
  wellFormedCredential,
} from '../credential.ts';
import type { KeySource } from '../presets/companies.ts';
import { isServiceNonce } from '../service-nonce.ts';
import { authorityOf, canonicalIssuer, spellingsOf, type TrustedIssuer } from './issuer.ts';
import { issuerKey } from './issuer-keys.ts';

/**
 * The allowed signature algorithms: asymmetric ones, so that no public key can serve as a shared
 * secret.
 */
const algorithms = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');
/** Seconds by which the clocks may differ. */
const leeway = 60;

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
      login_claims: loginClaimsIn(payload, trusted.login_claims),
      auth_time: authTimeIn(payload),
      provider_session: trusted.notifications && providerSessionOf(trusted, payload.sid),
      hook_claims:
        trusted.hook_claims &&
        definedOnly(Object.fromEntries(trusted.hook_claims.map((name) => [name, payload[name]]))),
    };
  } catch (error) {
    throw error instanceof errors.JOSEError ? rejected(reasonOf(error)) : error;
  }
}

/**
 * The hash of an issuer's session by its `sid`, undefined for none.
 * @see OpenID Connect Back-Channel Logout 1.0, section 2.1
 */
export const providerSessionOf = ({ issuer }: KeySource, sid: unknown): string | undefined =>
  typeof sid === 'string' && sid !== '' ? hashOf(issuer, sid) : undefined;

/**
 * The issuer by whose keys a token is to be verified.
 * @throws ServiceError, JOSEError
 */
export function trustedIssuerOf<Issuer extends KeySource>(jwt: string, issuers: Issuer[]): Issuer {
  const { iss } = decodeJwt(jwt);
  const named = typeof iss === 'string' ? canonicalIssuer(iss) : undefined;
  const trusted = issuers.find(({ issuer }) => issuer === named);
  if (!trusted) throw rejected('issued_by_another_issuer');
  return trusted;
}

/**
 * Verifies a JWT that an issuer has signed for one of our apps.
 * @throws ServiceError, JOSEError, ProviderFailure
 */
export async function verifiedJwt(
  trusted: KeySource & { audiences: string[] },
  jwt: string,
  { types, claims, appField = 'aud', isForMany = false }: JwtKind,
): Promise<{ payload: JWTPayload; alg: string; typ: string }> {
  const { payload, protectedHeader } = await jwtVerify(
    jwt,
    (header) => issuerKey(trusted, header),
    {
      algorithms,
      issuer: spellingsOf(trusted.issuer),
      clockTolerance: leeway,
      requiredClaims: claims,
      currentDate: clock.now(),
    },
  );
  const { alg, typ = 'JWT' } = protectedHeader;
  if (typeof typ !== 'string' || !isOfType(typ, types)) throw new errors.JWTInvalid('another typ');
  const audience = audienceIn(payload, appField);
  const ours = [audience.aud].flat().find((app) => trusted.audiences.some((one) => one === app));
  rejectForeign(isForMany ? { aud: ours, parties: [] } : audience, trusted.audiences);
  return { payload, alg, typ };
}

export interface JwtKind {
  /** The `typ` that the header may have, as `isOfType` takes them. Without one, it is a `jwt`. */
  types: readonly string[];
  claims: string[];
  /**
   * The claim that names the app.
   * @default 'aud'
   */
  appField?: string;
  /**
   * Whether others may be in the audience, and no party has asked for it, as for a security event
   * token.
   */
  isForMany?: boolean;
}

/**
 * Reasons by jose's codes, or by the claim that is wrong. Other errors mean that the token is
 * malformed.
 */
const reasons: Record<string, LogReason> = {
  ERR_JWT_EXPIRED: 'id_token_expired',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'signature_invalid',
  ERR_JWKS_NO_MATCHING_KEY: 'unknown_key',
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: 'unknown_key',
  ERR_JOSE_ALG_NOT_ALLOWED: 'algorithm_not_allowed',
  aud: 'issued_to_another_app',
  iss: 'issued_by_another_issuer',
  nbf: 'id_token_not_yet_valid',
  sub: 'no_usable_subject',
};

export function reasonOf(error: errors.JOSEError): LogReason {
  if (error instanceof errors.JWTClaimValidationFailed)
    return reasons[error.claim] ?? 'claim_invalid';
  return reasons[error.code] ?? 'not_an_id_token';
}

/**
 * Claims that only id tokens have.
 * @see OpenID Connect Core 1.0, section 3.3.2.11; FAPI 1.0 Advanced, section 5.1.1
 */
export const claimsOfIdTokens = ['nonce', 'at_hash', 'c_hash', 's_hash'];

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
 * @param maxAge seconds for which a JWT counts after it was issued
 * @throws ServiceError
 */
export function rejectOutdated({ iat = 0 }: JWTPayload, maxAge: number): void {
  const age = epochSeconds() - iat;
  if (age < -leeway) throw rejected('issued_in_the_future');
  if (age > maxAge + leeway) throw rejected('issued_too_long_ago');
}

/** @throws ServiceError when the issuer's settings require a nonce, and the request has none */
export function requireNonce(
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
  if (typeof at_hash !== 'string' || !equalInConstantTime(at_hash, expected))
    throw rejected('other_access_token');
}
