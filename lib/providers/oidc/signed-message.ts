import type { JWTPayload } from 'jose';
import { ServiceError } from '../../foundation/service-error.ts';
import { hashOf } from '../../storage/keys.ts';
import { rejected, wellFormedCredential } from '../credential.ts';
import type { KnownIssuer } from '../settings/issuers.ts';
import { claimsOfIdTokens, type JwtKind, rejectOutdated, trustedIssuerOf, verifiedJwt } from './verify.ts';

/** Seconds for which a message counts: as long as transmitters repeat it. */
export const longestAge = 7 * 86_400;

/** The event that makes a JWT a logout token. @see OpenID Connect Back-Channel Logout 1.0, section 2.4 */
export const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

/** The error for a message that its issuer has signed, and that is not as it should be. */
export const refused = (message: string): ServiceError =>
  new ServiceError('invalid_request', message, { reason: 'claim_invalid' });

/**
 * A JWT that an issuer has signed to tell us something, and its settings for that. No call is made for another issuer's.
 * @throws ServiceError, JOSEError, ProviderFailure
 */
export async function verifyFromIssuer(issuers: KnownIssuer[], jwt: string, kind: JwtKind) {
  const issuer = trustedIssuerOf(wellFormedCredential(jwt), issuers);
  const { notifications: settings } = issuer;
  if (!settings) throw rejected('notifications_off');
  const { audiences = issuer.audiences } = settings;
  const { payload } = await verifiedJwt({ ...issuer, audiences }, jwt, kind);
  rejectIdTokens(payload);
  rejectOutdated(payload, longestAge);
  if (typeof payload.jti !== 'string') throw refused('The token needs a jti that is text.');
  return { issuer, settings, payload, id: hashOf(issuer.issuer, payload.jti) };
}

/** @throws ServiceError for a token with a claim that only id tokens have */
function rejectIdTokens(payload: JWTPayload): void {
  const claim = claimsOfIdTokens.find((name) => payload[name] !== undefined);
  if (claim !== undefined) throw refused(`The token must not have ${claim}, which makes it an id token.`);
}
