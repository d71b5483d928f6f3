import { createPublicKey, randomBytes } from 'node:crypto';
import {
  base64url,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  type JWK,
  type JWTHeaderParameters,
  type JWTPayload,
  SignJWT,
} from 'jose';

/** A new APNs device token. */
export const hexToken = (): string => randomBytes(32).toString('hex');

const encoded = (value: unknown): string => base64url.encode(JSON.stringify(value));

/** Claims signed with a new key, or a secret, whatever the header says. */
async function forged(claims: JWTPayload, header: JWTHeaderParameters, secret?: Uint8Array): Promise<string> {
  const key = secret ?? (await generateKeyPair(header.alg)).privateKey;
  return new SignJWT(claims).setProtectedHeader(header).sign(key);
}

/** The key that verifies it comes along in the header. */
async function forgedWithOwnKey(claims: JWTPayload, header: JWTHeaderParameters): Promise<string> {
  const { privateKey, publicKey } = await generateKeyPair(header.alg, { extractable: true });
  const jwk = await exportJWK(publicKey);
  return new SignJWT(claims).setProtectedHeader({ ...header, jwk }).sign(privateKey);
}

/**
 * What an attacker could make of one of the service's access tokens: none of it is valid.
 * @param published the service's key set
 */
export async function tamperedTokens(token: string, published: { keys: JWK[] }): Promise<[string, string][]> {
  const [header = '', payload = '', signature = ''] = token.split('.');
  const claims = decodeJwt(token);
  const own = { alg: '', ...decodeProtectedHeader(token) };
  const otherAlgorithm = { RS256: 'ES256', ES256: 'RS256' }[own.alg] ?? 'RS256';
  const jwk = published.keys.find(({ kid }) => kid === own.kid) ?? {};
  const pem = createPublicKey({ key: { ...jwk }, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
  const flipped = (text: string, at: number) =>
    text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
  const hmac = { ...own, alg: 'HS256' };
  const bytes = (text: string) => new TextEncoder().encode(text);
  return [
    ['cut by one character', token.slice(0, -1)],
    ['without its signature', `${header}.${payload}.`],
    ['without its last part', `${header}.${payload}`],
    ['with one part more', `${token}.x`],
    ['a bit of the header changed', `${flipped(header, 10)}.${payload}.${signature}`],
    ['a bit of the claims changed', `${header}.${flipped(payload, 10)}.${signature}`],
    ['a bit of the signature changed', `${header}.${payload}.${flipped(signature, 10)}`],
    ['other claims', `${header}.${encoded({ ...claims, aud: 'another' })}.${signature}`],
    ['alg none', `${encoded({ ...own, alg: 'none' })}.${payload}.`],
    ['alg none, signed', `${encoded({ ...own, alg: 'none' })}.${payload}.${signature}`],
    ['a foreign key under the same kid', await forged(claims, own)],
    [
      'a foreign key of the other algorithm under the same kid',
      await forged(claims, { ...own, alg: otherAlgorithm }),
    ],
    [
      'the other algorithm in the header',
      `${encoded({ ...own, alg: otherAlgorithm })}.${payload}.${signature}`,
    ],
    ['RSA with another padding', `${encoded({ ...own, alg: 'PS256' })}.${payload}.${signature}`],
    ['another issuer', await forged({ ...claims, iss: 'https://login.example' }, own)],
    ['a secret key', await forged(claims, hmac, bytes('a secret'))],
    ['the public key as a secret, in PEM', await forged(claims, hmac, bytes(pem.toString()))],
    ['the public key as a secret, as a JWK', await forged(claims, hmac, bytes(JSON.stringify(jwk)))],
    ['a key of its own in the header', await forgedWithOwnKey(claims, own)],
  ];
}
