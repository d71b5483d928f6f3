import { errors, type JWTHeaderParameters, jwtVerify } from 'jose';
import * as v from 'valibot';
import { clock } from '../foundation/clock.ts';
import { refreshTokenForm } from '../foundation/ids.ts';
import type { LogReason } from '../foundation/reasons.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { isLongLived } from '../login-apps/login-app-tokens.ts';
import { publicKey } from '../signing/published-keys.ts';
import { tokenAlgorithms } from '../signing/settings.ts';
import {
  type AccessTokenClaims,
  type AccessTokenPayload,
  accessTokenPayloadSchema,
  payloadOf,
} from './access-token.ts';
import { issuer } from './issuer.ts';

/** The payload of one of our own access tokens; undefined for anything but a valid one. */
export const readAccessToken = async (token: string): Promise<AccessTokenPayload | undefined> =>
  (await verify(token)).payload;

/** The claims of a Login User Token. @throws ServiceError `invalid_token`, whatever is wrong with it */
export async function verifyLoginUserToken(token: string): Promise<AccessTokenClaims<'login_user'>> {
  const { payload, reason = 'login_app_token_sent' } = await verify(token);
  if (payload?.token_use === 'login_user') return payload;
  throw new ServiceError('invalid_token', 'The token is not a valid Login User Token.', { reason });
}

/** The claims of a Login App Token. @throws ServiceError `invalid_token`, whatever is wrong with it */
export async function verifyLoginAppToken(token: string): Promise<AccessTokenClaims<'login_app'>> {
  const { payload, reason = 'login_user_token_sent' } = await verify(token);
  if (payload?.token_use === 'login_app') return payload;
  throw new ServiceError('invalid_token', 'The token is not a valid Login App Token.', { reason });
}

/** The claims of a token for recipients; undefined for anything else. */
export async function readRecipientsToken(
  token: string,
): Promise<AccessTokenClaims<'recipients'> | undefined> {
  const { payload } = await verify(token);
  return payload?.token_use === 'recipients' ? payload : undefined;
}

/** The payload of an access token, or the reason why it is none of ours. @see RFC 9068 section 4 */
async function verify(token: string): Promise<{ payload?: AccessTokenPayload; reason?: LogReason }> {
  try {
    const { payload } = await jwtVerify(token, async (header) => (await keyOf(header)).key, {
      algorithms: [...tokenAlgorithms],
      typ: 'at+jwt',
      issuer: issuer(),
      currentDate: clock.now(),
    });
    const claims = v.safeParse(accessTokenPayloadSchema, payload);
    return claims.success ? { payload: claims.output } : { reason: 'claim_invalid' };
  } catch (error) {
    if (error instanceof errors.JOSEError) return { reason: reasonOf(token, error) };
    throw error;
  }
}

function reasonOf(token: string, error: errors.JOSEError): LogReason {
  if (refreshTokenForm.test(token)) return 'refresh_token_sent';
  if (isLongLived(token)) return 'login_app_token_sent';
  if (error instanceof errors.JWTExpired) return 'token_expired';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'signature_invalid';
  // A key of another issuer is unknown here, so its claims, which nobody has verified, say more.
  if (error instanceof errors.JWKSNoMatchingKey && payloadOf(token)?.iss !== issuer())
    return 'issued_by_another_issuer';
  return error instanceof errors.JWKSNoMatchingKey ? 'unknown_key' : 'not_an_access_token';
}

/** The key decides on the algorithm, never the token alone. @see RFC 8725 section 3.1 */
async function keyOf({ kid, alg }: JWTHeaderParameters) {
  const found = kid === undefined ? undefined : await publicKey(kid);
  if (found?.alg !== alg) throw new errors.JWKSNoMatchingKey();
  return found;
}
