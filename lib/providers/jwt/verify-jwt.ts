import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose';
import { clock, epochSeconds } from '../../foundation/clock.ts';
import { isOfType } from '../../foundation/media-type.ts';
import type { LogReason } from '../../foundation/reasons.ts';
import { audienceIn, rejected, rejectForeign } from '../calls/credential.ts';
import { canonicalIssuer, spellingsOf } from './issuer.ts';
import { issuerKey } from './issuer-keys.ts';
import type { KeySource } from './known-issuers.ts';

/**
 * The allowed signature algorithms: asymmetric ones, so that no public key can serve as a shared
 * secret.
 */
const algorithms = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');
/** Seconds by which the clocks may differ. */
const leeway = 60;

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
 * @param maxAge seconds for which a JWT counts after it was issued
 * @throws ServiceError
 */
export function rejectOutdated({ iat = 0 }: JWTPayload, maxAge: number): void {
  const age = epochSeconds() - iat;
  if (age < -leeway) throw rejected('issued_in_the_future');
  if (age > maxAge + leeway) throw rejected('issued_too_long_ago');
}
