import { errors, type JWTPayload } from 'jose';
import type { LogReason } from '../../foundation/reasons.ts';
import { claimsOfIdTokens, reasonOf, trustedIssuerOf, verifiedJwt } from '../oidc/verify.ts';
import { rejected } from '../rejected.ts';
import { subjectAt } from '../subject.ts';
import type { JwtValidation } from './settings.ts';

/**
 * The subject of an access token that is a JWT: the issuer has signed it for one of our apps.
 * @throws ServiceError, ProviderFailure
 * @see RFC 9068 section 4
 */
export async function verifyJwtAccessToken(settings: JwtValidation, token: string): Promise<string> {
  try {
    const { payload, typ } = await verifiedJwt(trustedIssuerOf(token, [settings]), token, {
      types: /^(application\/)?(at\+)?jwt$/i,
      claims: ['exp', 'sub'],
      appField: settings.audience_field,
    });
    if (!isAccessToken(payload, typ)) throw rejected('not_an_access_token');
    const subject = subjectAt(payload, 'sub');
    if (subject === undefined) throw rejected('no_usable_subject');
    return subject;
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error;
    const reason = reasonOf(error);
    throw rejected(reasonsOfAccessTokens[reason] ?? reason);
  }
}

/** The reasons that are about id tokens alone, with their counterparts. */
const reasonsOfAccessTokens: Partial<Record<LogReason, LogReason>> = {
  id_token_expired: 'token_expired',
  not_an_id_token: 'not_an_access_token',
};

/**
 * Claims of tokens that are no bearer tokens of the person: of id tokens; of logout tokens and notifications; of a token
 * for the holder of a key (RFC 7800), and of one for somebody who acts for the person (RFC 8693, section 4.1).
 */
const foreignClaims = [...claimsOfIdTokens, 'events', 'cnf', 'act'];

/**
 * Whether a JWT says that it is an access token: by its type (RFC 9068), by a claim of Keycloak (`typ`) or Cognito
 * (`token_use`), or by a scope: a text, since UAA's id tokens have a list, or the `scp` of Entra and Okta. An id token
 * need not say what it is.
 */
function isAccessToken(claims: JWTPayload, headerType: string): boolean {
  const { typ = 'Bearer', token_use = 'access' } = claims;
  if (foreignClaims.some((claim) => claims[claim] !== undefined)) return false;
  if (typeof typ !== 'string' || !/^bearer$/i.test(typ) || token_use !== 'access') return false;
  return (
    /at\+jwt$/i.test(headerType) ||
    typeof claims.scope === 'string' ||
    ['typ', 'token_use', 'scp'].some((claim) => claims[claim] !== undefined)
  );
}
