import { SignJWT } from 'jose';
import { epochSeconds } from '../foundation/clock.ts';
import { newId } from '../foundation/ids.ts';
import { accessTokenLifetime } from '../signing/access-token-lifetime.ts';
import { currentSigningKey } from '../signing/signing-key.ts';
import type { AccessTokenClaims, TokenUse } from './access-token.ts';
import { issuer } from './issuer.ts';

/** The claims in which tokens differ; the others are added when a token is signed. */
type NewClaims<Use extends TokenUse> = Omit<AccessTokenClaims<Use>, 'iss' | 'jti' | 'iat' | 'exp' | 'scope'>;

/**
 * A signed access token: a JWT of type `at+jwt`. Its scope says what its `token_use` says, for verifiers that can check
 * nothing but scopes.
 * @param issuedAt epoch seconds
 * @param lifetime seconds from then on
 * @see RFC 9068
 */
export async function issueAccessToken<Use extends TokenUse>(
  claims: NewClaims<Use>,
  issuedAt = epochSeconds(),
  lifetime = accessTokenLifetime(),
): Promise<string> {
  const { kid, alg, key } = await currentSigningKey();
  return new SignJWT({ ...claims, scope: claims.token_use })
    .setProtectedHeader({ alg, typ: 'at+jwt', kid })
    .setIssuer(issuer())
    .setJti(newId('at'))
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + lifetime)
    .sign(key);
}
