import { SignJWT } from 'jose';
import { epochSeconds } from '../clock.ts';
import { newId } from '../secrets.ts';
import type { AccessTokenClaims, TokenUse } from './access-token.ts';
import { accessTokenLifetime } from './access-token-lifetime.ts';
import { issuer } from './issuer.ts';
import { currentSigningKey } from './signing-key.ts';

/** The claims in which tokens differ; the others are added when a token is signed. */
type NewClaims<Use extends TokenUse> = Omit<AccessTokenClaims<Use>, 'iss' | 'jti' | 'iat' | 'exp'>;

/**
 * A signed access token: a JWT of type `at+jwt`, ES256.
 * @param lifetime seconds
 * @see RFC 9068
 */
export async function issueAccessToken<Use extends TokenUse>(
  claims: NewClaims<Use>,
  lifetime = accessTokenLifetime(),
): Promise<string> {
  const { kid, key } = await currentSigningKey();
  const issuedAt = epochSeconds();
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid })
    .setIssuer(issuer())
    .setJti(newId('at'))
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + lifetime)
    .sign(key);
}
