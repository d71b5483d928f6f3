import { errors, type JWTHeaderParameters, jwtVerify } from 'jose';
import * as v from 'valibot';
import { clock } from '../clock.ts';
import { ServiceError } from '../errors/service-error.ts';
import { publicKey } from '../signing-keys/public-keys.ts';
import { tokenAlgorithms } from '../signing-keys/token-algorithm.ts';
import { type AccessTokenClaims, type AccessTokenPayload, accessTokenPayloadSchema } from './access-token.ts';
import { issuer } from './issuer.ts';

/** The payload of one of our own access tokens; undefined for anything but a valid one. @see RFC 9068 section 4 */
export async function readAccessToken(token: string): Promise<AccessTokenPayload | undefined> {
  try {
    const { payload } = await jwtVerify(token, async (header) => (await keyOf(header)).key, {
      algorithms: [...tokenAlgorithms],
      typ: 'at+jwt',
      issuer: issuer(),
      currentDate: clock.now(),
    });
    const claims = v.safeParse(accessTokenPayloadSchema, payload);
    return claims.success ? claims.output : undefined;
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}

/** The claims of a Login User Token. @throws ServiceError `invalid_token`, whatever is wrong with it */
export async function verifyLoginUserToken(token: string): Promise<AccessTokenClaims<'login_user'>> {
  const claims = await readAccessToken(token);
  if (claims?.token_use === 'login_user') return claims;
  throw new ServiceError('invalid_token', 'The token is not a valid Login User Token.');
}

/** The claims of a Login App Token. @throws ServiceError `invalid_token`, whatever is wrong with it */
export async function verifyLoginAppToken(token: string): Promise<AccessTokenClaims<'login_app'>> {
  const claims = await readAccessToken(token);
  if (claims?.token_use === 'login_app') return claims;
  throw new ServiceError('invalid_token', 'The token is not a valid Login App Token.');
}

/** The key decides on the algorithm, never the token alone. @see RFC 8725 section 3.1 */
async function keyOf({ kid, alg }: JWTHeaderParameters) {
  const found = kid === undefined ? undefined : await publicKey(kid);
  if (found?.alg !== alg) throw new errors.JWSInvalid('no key of this id and algorithm');
  return found;
}
