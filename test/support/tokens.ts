import { createPublicKey, randomBytes } from 'node:crypto';
import {
  base64url,
  CompactEncrypt,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  generateSecret,
  type JWK,
  type JWTHeaderParameters,
  type JWTPayload,
  SignJWT,
} from 'jose';

/** A new APNs device token. */
export const hexToken = (): string => randomBytes(32).toString('hex');

/** An access token that an attacker has got hold of, and what anybody can know of it. */
export interface TakenToken {
  token: string;
  header: JWTHeaderParameters;
  claims: JWTPayload;
  /** The key that verifies it, as it is published. */
  jwk: JWK;
}

export function takenToken(token: string, published: { keys: JWK[] }): TakenToken {
  const header = { alg: '', ...decodeProtectedHeader(token) };
  const jwk = published.keys.find(({ kid }) => kid === header.kid) ?? {};
  return { token, header, claims: decodeJwt(token), jwk };
}

const bytes = (text: string) => new TextEncoder().encode(text);
const encoded = (value: unknown): string => base64url.encode(JSON.stringify(value));
const flipped = (text: string, at: number) =>
  text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
const partsOf = ({ token }: TakenToken) => {
  const [header = '', payload = '', signature = ''] = token.split('.');
  return { header, payload, signature };
};
/** The token with another header, under the signature that it had. */
const withHeader = (taken: TakenToken, header: object): string => {
  const { payload, signature } = partsOf(taken);
  return `${encoded({ ...taken.header, ...header })}.${payload}.${signature}`;
};
const attackersKeys = new Map<string, ReturnType<typeof generateKeyPair>>();
const attackersKey = (alg: string) => {
  const key = attackersKeys.get(alg) ?? generateKeyPair(alg, { extractable: true });
  attackersKeys.set(alg, key);
  return key;
};
const signedAs =
  (header: object, claims: object = {}) =>
  async (taken: TakenToken): Promise<string> => {
    const all = { ...taken.header, ...header };
    const { privateKey } = await attackersKey(all.alg);
    return new SignJWT({ ...taken.claims, ...claims }).setProtectedHeader(all).sign(privateKey);
  };
/** Signed by a key that comes along in the header. */
const withItsOwnKey = (name: string) => async (taken: TakenToken) => {
  const { privateKey, publicKey } = await attackersKey('ES256');
  const jwk = { ...(await exportJWK(publicKey)), kid: taken.header.kid, alg: 'ES256', use: 'sig' };
  const url = 'https://attacker.example/jwks';
  const values = { jwk, jku: url, x5u: url, x5c: ['MIIB'] };
  const header = { ...taken.header, alg: 'ES256', [name]: Reflect.get(values, name) };
  return new SignJWT(taken.claims).setProtectedHeader(header).sign(privateKey);
};
const asSharedSecret = (alg: string, secretOf: (jwk: JWK) => string) => (taken: TakenToken) =>
  new SignJWT(taken.claims)
    .setProtectedHeader({ ...taken.header, alg })
    .sign(bytes(secretOf(taken.jwk).padEnd(64, '\n')));
const pemOf = (jwk: JWK) =>
  createPublicKey({ key: { ...jwk }, format: 'jwk' })
    .export({ type: 'spki', format: 'pem' })
    .toString();
const unsigned = (alg: string, signature: (taken: TakenToken) => string) => (taken: TakenToken) =>
  `${encoded({ ...taken.header, alg })}.${partsOf(taken).payload}.${signature(taken)}`;

const withOtherClaims = (taken: TakenToken): string => {
  const { header, signature } = partsOf(taken);
  return `${header}.${encoded({ ...taken.claims, sub: 'somebody-else' })}.${signature}`;
};

async function encrypted(taken: TakenToken): Promise<string> {
  const key = await generateSecret('A256GCM');
  return new CompactEncrypt(bytes(taken.token))
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', typ: 'at+jwt' })
    .encrypt(key);
}

type Forge = (taken: TakenToken) => string | Promise<string>;

/** What an attacker could make of a JWT: none of it is valid. Each with where it is described. */
export const forgeries: [source: string, what: string, forge: Forge][] = [
  ['CVE-2015-9235', 'alg none', unsigned('none', () => '')],
  [
    'CVE-2015-9235',
    'alg none, with the signature',
    unsigned('none', (one) => partsOf(one).signature),
  ],
  ['RFC 8725 2.1', 'alg None', unsigned('None', () => '')],
  ['CVE-2020-28042', 'no signature', (one) => `${partsOf(one).header}.${partsOf(one).payload}.`],
  ['CVE-2016-10555', 'HS256 with the public key as PEM', asSharedSecret('HS256', pemOf)],
  ['CVE-2016-10555', 'HS256 with the public key as a JWK', asSharedSecret('HS256', JSON.stringify)],
  ['CVE-2016-10555', 'HS512 with the public key as PEM', asSharedSecret('HS512', pemOf)],
  ['RFC 8725 3.5', 'HS256 with a guessable secret', asSharedSecret('HS256', () => 'secret')],
  [
    'CVE-2022-21449',
    'ES256 with r = s = 0',
    unsigned('ES256', () => base64url.encode(new Uint8Array(64))),
  ],
  ['RFC 8725 3.1', 'another algorithm in the header', (one) => withHeader(one, { alg: 'PS256' })],
  [
    'RFC 8725 3.1',
    'an algorithm that is a list',
    (one) => withHeader(one, { alg: [one.header.alg] }),
  ],
  ['RFC 8725 2.1', 'an ES256 key of the attacker under our kid', signedAs({ alg: 'ES256' })],
  ['RFC 8725 2.1', 'an RS256 key of the attacker under our kid', signedAs({ alg: 'RS256' })],
  ['CVE-2018-0114', 'a key of the attacker in jwk', withItsOwnKey('jwk')],
  ['RFC 8725 3.10', 'a key of the attacker behind jku', withItsOwnKey('jku')],
  ['RFC 8725 3.10', 'a key of the attacker behind x5u', withItsOwnKey('x5u')],
  ['RFC 8725 3.10', 'a certificate of the attacker in x5c', withItsOwnKey('x5c')],
  [
    'RFC 8725 3.10',
    'the kid ../../../dev/null',
    signedAs({ alg: 'ES256', kid: '../../../dev/null' }),
  ],
  ['RFC 8725 3.10', 'a kid with SQL', signedAs({ alg: 'ES256', kid: "x' UNION SELECT 'key" })],
  ['RFC 8725 3.10', 'a kid with NUL', signedAs({ alg: 'ES256', kid: 'k\0' })],
  ['CVE-2019-10744', 'the kid __proto__', signedAs({ alg: 'ES256', kid: '__proto__' })],
  ['RFC 8725 3.10', 'a kid that is a list', (one) => withHeader(one, { kid: [one.header.kid] })],
  ['RFC 8725 3.10', 'a kid that is a number', (one) => withHeader(one, { kid: 7 })],
  ['RFC 8725 3.10', 'no kid', (one) => withHeader(one, { kid: undefined })],
  ['RFC 7515 4.1.11', 'a critical extension', (one) => withHeader(one, { crit: ['exp'], exp: 1 })],
  ['RFC 7797 3', 'an unencoded payload', (one) => withHeader(one, { crit: ['b64'], b64: false })],
  ['RFC 8725 3.3', 'claims swapped under a signature', (one) => withOtherClaims(one)],
  ['RFC 8725 2.1', 'a bit of the header changed', (one) => flipped(one.token, 10)],
  ['RFC 8725 2.1', 'the last character cut off', (one) => one.token.slice(0, -1)],
  ['RFC 8725 2.1', 'a part more', (one) => `${one.token}.x`],
  ['RFC 8725 2.1', 'a part less', (one) => one.token.split('.').slice(0, 2).join('.')],
  [
    'RFC 8725 3.3',
    'a nested token',
    (one) => `${encoded({ cty: 'JWT', alg: 'none' })}.${base64url.encode(one.token)}.`,
  ],
  ['RFC 8725 2.3', 'an encrypted token', encrypted],
  ['RFC 8725 3.8', 'another issuer', signedAs({ alg: 'ES256' }, { iss: 'https://login.example' })],
];

/** All of them, of one token. */
export async function tamperedTokens(
  token: string,
  published: { keys: JWK[] },
): Promise<[string, string][]> {
  const taken = takenToken(token, published);
  return Promise.all(
    forgeries.map(async ([, what, forge]): Promise<[string, string]> => [what, await forge(taken)]),
  );
}
