import { compactVerify, decodeJwt, errors, type JWTPayload } from 'jose';
import { epochSeconds } from '../../foundation/clock.ts';
import { isOfType } from '../../foundation/media-type.ts';
import type { LogReason } from '../../foundation/reasons.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import { audienceIn, rejected, rejectForeign } from '../calls/credential.ts';
import { checkClaims, claimsIn, leeway } from './claims.ts';
import { canonicalIssuer, spellingsOf } from './issuer.ts';
import { verifyByIssuer } from './issuer-keys.ts';
import { algorithms } from './key-set.ts';
import type { KeySource } from './known-issuers.ts';
import { isTemplate, standsFor } from './tenants.ts';

/**
 * The issuer by whose keys a token is to be verified. For an issuer with many tenants, it is that
 * of the tenant, with the `template` that the settings name.
 * @throws ServiceError, JOSEError
 */
export function trustedIssuerOf<Issuer extends KeySource & { tenants?: string[] | undefined }>(
  jwt: string,
  issuers: Issuer[],
): Issuer & { template?: string | undefined } {
  const { iss, tid } = decodeJwt(jwt);
  if (typeof iss !== 'string') throw rejected('issued_by_another_issuer');
  const named = canonicalIssuer(iss);

  // A template is no issuer of anybody.
  const trusted = issuers.find(({ issuer }) => issuer === named && !isTemplate(issuer));
  if (trusted) return trusted;

  const ofTenants = issuers.find((one) => standsFor(one, named, tid));
  if (ofTenants) return { ...ofTenants, issuer: named, template: ofTenants.issuer };

  throw rejected('issued_by_another_issuer');
}

export interface JwtKind {
  /** The `typ` that the header may have, as `isOfType` takes them. Without one, it is a `jwt`. */
  types: readonly string[];
  /** Claims that must be there, besides `iss`. */
  claims: string[];
  /**
   * The claim that names the app.
   * @default 'aud'
   */
  appField?: string;
  /**
   * Whether others may be in the audience, and no party has asked for it, as for a security event
   * token.
   * @default false
   */
  isForMany?: boolean;
}

/**
 * Verifies a JWT that an issuer has signed for one of our apps.
 * @throws ServiceError, JOSEError, ProviderFailure
 */
export async function verifiedJwt(
  trusted: KeySource & { audiences: string[] },
  jwt: string,
  kind: JwtKind,
): Promise<{ payload: JWTPayload; alg: string; typ: string }> {
  // 1. The issuer has signed it.
  const verified = await verifyByIssuer(trusted, (findKey) =>
    compactVerify(jwt, findKey, { algorithms }),
  );

  // 2. It is a JWT of this kind. RFC 7797, section 7: no JWT has claims that are not encoded.
  const { alg, b64, typ = 'JWT' } = verified.protectedHeader;
  if (b64 === false) throw new errors.JWTInvalid('The claims are not encoded.');
  const payload = claimsIn(verified.payload);
  checkClaims(payload, { issuers: spellingsOf(trusted.issuer), required: kind.claims });
  if (typeof typ !== 'string' || !isOfType(typ, kind.types))
    throw new errors.JWTInvalid('another typ');

  // 3. It was issued to one of our apps.
  rejectOtherApps(payload, trusted.audiences, kind);
  return { payload, alg, typ };
}

/** @throws ServiceError for claims that were issued to another app */
function rejectOtherApps(
  claims: JWTPayload,
  audiences: string[],
  { appField = 'aud', isForMany = false }: JwtKind,
): void {
  const audience = audienceIn(claims, appField);
  if (!isForMany) {
    rejectForeign(audience, audiences);
    return;
  }

  // It is enough that one of our apps is among the receivers.
  const receivers: unknown[] = [audience.aud].flat();
  const ours = receivers.find((app) => audiences.some((one) => one === app));
  rejectForeign({ aud: ours, parties: [] }, audiences);
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

/** The reason, for the log, why a JWT was rejected. */
export function reasonOf(error: errors.JOSEError): LogReason {
  if (error instanceof errors.JWTClaimValidationFailed)
    return reasons[error.claim] ?? 'claim_invalid';
  return reasons[error.code] ?? 'not_an_id_token';
}

const keyUnknown =
  'The issuer does not publish the key of this token. It may be too new: send the same token again in a minute.';

/**
 * The error for a JWT that is rejected. One whose key is not known may count later: an issuer may
 * sign with a key before everybody sees it.
 */
export const rejectedJwt = (reason: LogReason): ServiceError =>
  reason === 'unknown_key'
    ? new ServiceError('invalid_grant', keyUnknown, reason)
    : rejected(reason);

/**
 * Claims that only id tokens have.
 * @see OpenID Connect Core 1.0, section 3.3.2.11; FAPI 1.0 Advanced, section 5.1.1
 */
export const claimsOfIdTokens = ['nonce', 'at_hash', 'c_hash', 's_hash'];

/**
 * Rejects a JWT that was issued too long ago, or in the future.
 * @param maxAge seconds for which a JWT counts after it was issued
 * @throws ServiceError
 */
export function rejectOutdated({ iat = 0 }: JWTPayload, maxAge: number): void {
  const age = epochSeconds() - iat;
  if (age < -leeway) throw rejected('issued_in_the_future');
  if (age > maxAge + leeway) throw rejected('issued_too_long_ago');
}
