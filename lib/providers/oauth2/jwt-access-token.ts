import { errors, type JWTPayload } from 'jose';
import { isOfType } from '../../foundation/media-type.ts';
import type { LogReason } from '../../foundation/reasons.ts';
import { authTimeIn, rejected, subjectAt } from '../calls/credential.ts';
import {
  claimsOfIdTokens,
  reasonOf,
  rejectedJwt,
  trustedIssuerOf,
  verifiedJwt,
} from '../jwt/verify-jwt.ts';
import type { ValidationBy } from './settings.ts';

/**
 * The person of an access token that is a JWT which the issuer has signed for one of our apps.
 * @see RFC 9068 section 4
 */
export async function verifyJwtAccessToken(settings: ValidationBy<'jwt'>, token: string) {
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
    throw rejectedJwt(reasonsOfAccessTokens[reason] ?? reason);
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
