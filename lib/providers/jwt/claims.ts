import { errors, type JWTPayload } from 'jose';
import { epochSeconds } from '../../foundation/clock.ts';

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

/** Bytes that are no UTF-8 must not become U+FFFD: different people would get one subject. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

function objectIn(payload: Uint8Array): JWTPayload {
  try {
    const claims: unknown = JSON.parse(utf8.decode(payload));
    if (claims instanceof Object && !Array.isArray(claims)) return { ...claims };
  } catch {
    // The claims are no JSON.
  }
  throw new errors.JWTInvalid('The claims are no JSON object in UTF-8.');
}

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
