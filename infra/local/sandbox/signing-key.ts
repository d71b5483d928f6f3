import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';

export const signingAlgorithm = 'ES256';

export interface SigningKey {
  kid: string;
  /** With the private part. */
  jwk: JWK;
  /** Signs exactly these claims: none is added or checked. */
  sign(claims: JWTPayload): Promise<string>;
}

/** Makes a new key whose `kid` is its thumbprint (RFC 7638). */
export async function generateSigningKey(): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair(signingAlgorithm, { extractable: true });
  const jwk = await exportJWK(privateKey);
  const kid = await calculateJwkThumbprint(jwk);
  return {
    kid,
    jwk: { ...jwk, kid, alg: signingAlgorithm, use: 'sig' },
    sign: (claims) => new SignJWT(claims).setProtectedHeader({ alg: signingAlgorithm, kid }).sign(privateKey),
  };
}
