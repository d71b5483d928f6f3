import { randomBytes } from 'node:crypto';
import { base64url, decodeJwt, decodeProtectedHeader, generateKeyPair, SignJWT } from 'jose';

/** A new APNs device token. */
export const hexToken = (): string => randomBytes(32).toString('hex');

const encoded = (value: unknown): string => base64url.encode(JSON.stringify(value));

/** What an attacker could make of one of the service's access tokens: none of it is valid. */
export async function tamperedTokens(token: string): Promise<[string, string][]> {
  const [header = '', payload = '', signature = ''] = token.split('.');
  const claims = decodeJwt(token);
  const ownHeader = { alg: 'ES256', ...decodeProtectedHeader(token) };
  const { privateKey } = await generateKeyPair('ES256');
  const own = (claims: object) => new SignJWT({ ...claims }).setProtectedHeader(ownHeader).sign(privateKey);
  const flipped = (text: string, at: number) =>
    text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
  return [
    ['cut by one character', token.slice(0, -1)],
    ['without its signature', `${header}.${payload}.`],
    ['without its last part', `${header}.${payload}`],
    ['with one part more', `${token}.x`],
    ['a bit of the header changed', `${flipped(header, 10)}.${payload}.${signature}`],
    ['a bit of the claims changed', `${header}.${flipped(payload, 10)}.${signature}`],
    ['a bit of the signature changed', `${header}.${payload}.${flipped(signature, 10)}`],
    ['other claims', `${header}.${encoded({ ...claims, aud: 'another' })}.${signature}`],
    ['alg none', `${encoded({ ...ownHeader, alg: 'none' })}.${payload}.`],
    ['alg none, signed', `${encoded({ ...ownHeader, alg: 'none' })}.${payload}.${signature}`],
    ['a foreign key under the same kid', await own(claims)],
    ['another issuer', await own({ ...claims, iss: 'https://login.example' })],
    [
      'a secret key',
      await new SignJWT(claims)
        .setProtectedHeader({ ...ownHeader, alg: 'HS256' })
        .sign(new TextEncoder().encode('a secret')),
    ],
  ];
}
