import { errors, type JWTPayload } from 'jose';
import * as v from 'valibot';
import { epochSeconds } from '../../foundation/clock.ts';
import { decodeUtf8 } from '../../foundation/utf8.ts';
import { jsonObject } from '../../schema/validation.ts';

/** Seconds by which the clocks may differ. */
export const leeway = 60;

/** Claims that are epoch seconds. */
const times = ['exp', 'iat', 'nbf', 'auth_time', 'session_expiry'];

/**
 * The claims of a JWT, with numbers where a sender writes times as text.
 * @throws JOSEError unless they are a JSON object in UTF-8
 */
export function claimsIn(payload: Uint8Array): JWTPayload {
  const claims = objectIn(payload);
  for (const name of times) {
    const told = claims[name];
    if (typeof told === 'string' && /^\d{1,12}(\.\d+)?$/.test(told)) claims[name] = Number(told);
  }
  return claims;
}

/** Bytes that are not UTF-8 must not become U+FFFD: different people would get one subject. */
function objectIn(payload: Uint8Array): JWTPayload {
  const claims = v.safeParse(objectSchema, decodeUtf8(payload));
  if (!claims.success) throw new errors.JWTInvalid('The claims are no JSON object in UTF-8.');
  return { ...claims.output };
}
const objectSchema = v.pipe(v.string(), v.parseJson(), jsonObject('no object'));

export interface ClaimRules {
  /** The spellings of the issuer. */
  issuers: string[];
  /** Claims that must be there. */
  required: readonly string[];
}

/**
 * Checks the claims that each JWT may have.
 * @throws JOSEError
 * @see RFC 7519, section 4.1
 */
export function checkClaims(claims: JWTPayload, { issuers, required }: ClaimRules): void {
  const missing = ['iss', ...required].find((name) => claims[name] === undefined);
  if (missing !== undefined) throw wrongClaim(claims, missing);
  if (!issuers.includes(String(claims.iss))) throw wrongClaim(claims, 'iss');

  const now = epochSeconds();
  timeIn(claims, 'iat');
  const start = timeIn(claims, 'nbf');
  if (start !== undefined && start > now + leeway) throw wrongClaim(claims, 'nbf');
  const end = timeIn(claims, 'exp');
  if (end !== undefined && end <= now - leeway)
    throw new errors.JWTExpired('The token has expired.', claims, 'exp');
}

/** @throws JOSEError for a time that is no number */
function timeIn(claims: JWTPayload, name: string): number | undefined {
  const time = claims[name];
  if (time === undefined || typeof time === 'number') return time;
  throw wrongClaim(claims, name);
}

const wrongClaim = (claims: JWTPayload, name: string) =>
  new errors.JWTClaimValidationFailed(`The claim ${name} is missing or wrong.`, claims, name);
