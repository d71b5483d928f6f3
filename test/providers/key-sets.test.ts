import { expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { expectError } from '../support/expectations.ts';
import { newIssuerLogin } from '../support/issuer-login.ts';
import { ourApp, startProviderStandIn } from '../support/provider-stand-in.ts';
import { now, sharedService, unique } from '../support/service.ts';

const service = sharedService();
const standIn = await startProviderStandIn();

const newKey = async (alg: string, kid: string) => {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return { jwk: { ...(await exportJWK(publicKey)), kid }, privateKey };
};
const own = await newKey('ES256', 'own');
const other = await newKey('ES256', 'own');
const rsa = await newKey('RS256', 'own');
const edwards = await newKey('Ed25519', 'own');

/** A login at an issuer that publishes some keys and signs with another part of one. */
async function logInWith(keys: unknown[], key = own, header: object = {}) {
  const { scene, app } = await newIssuerLogin(service, standIn);
  scene.answer('jwks', { body: { keys } });
  const iat = now();
  const claims = { iss: scene.url, aud: ourApp, sub: unique('alice'), iat, exp: iat + 600 };
  const id_token = await new SignJWT(claims)
    .setProtectedHeader({ alg: 'ES256', kid: 'own', ...header })
    .sign(key.privateKey);
  const answer = await service.byIdToken(id_token, app);
  return { ...answer, calls: scene.calls('jwks') };
}

const { kid: _, ...withoutId } = own.jwk;

test.each<[string, unknown[], typeof own?, object?]>([
  ['the same key twice', [own.jwk, own.jwk]],
  ['the same key twice, once with more members', [own.jwk, { ...own.jwk, use: 'sig', x5t: 'a' }]],
  ['two keys of this id, the second of which fits', [other.jwk, own.jwk]],
  ['key_ops of a WebCrypto export', [{ ...own.jwk, key_ops: ['verify'], ext: true }]],
  ['key_ops of the private part', [{ ...own.jwk, key_ops: ['sign'] }]],
  ['key_ops of both parts', [{ ...own.jwk, key_ops: ['verify', 'sign'], ext: false }]],
  ['key_ops that are empty, and an ext as text', [{ ...own.jwk, key_ops: [], ext: 'true' }]],
  ['key_ops that are text', [{ ...own.jwk, key_ops: 'verify' }]],
  ['a key for encryption beside it', [{ ...own.jwk, use: 'enc' }, own.jwk]],
  ['an unknown type beside it', [{ kty: 'AKP', alg: 'ML-DSA-44', kid: 'own', pub: 'AA' }, own.jwk]],
  ['an unknown curve beside it', [{ ...own.jwk, crv: 'P-0' }, own.jwk]],
  ['a malformed key beside it', [{ ...own.jwk, x: 'AA' }, own.jwk]],
  ['a member without a type beside it', [{ kid: 'own' }, null, 'key', own.jwk]],
  ['no id', [withoutId]],
  ['several keys, and the token names none', [other.jwk, own.jwk], own, { kid: undefined }],
  ['a chain of certificates as text', [{ ...own.jwk, x5c: 'MII' }]],
  [
    'RSA with WebCrypto’s members',
    [{ ...rsa.jwk, alg: 'RS256', key_ops: ['verify'], ext: true }],
    rsa,
    { alg: 'RS256' },
  ],
  ['the older name of Ed25519', [{ ...edwards.jwk, alg: 'EdDSA' }], edwards, { alg: 'Ed25519' }],
  ['the newer name of Ed25519', [{ ...edwards.jwk, alg: 'Ed25519' }], edwards, { alg: 'EdDSA' }],
])('an issuer publishes %s: its people log in', async (_, keys, key = own, header = {}) => {
  expect((await logInWith(keys, key, header)).status).toBe(200);
});

const wrong: [string, JWK[]][] = [
  ['only another key of this id', [other.jwk]],
  ['the key with another id', [{ ...own.jwk, kid: 'another' }]],
  ['the key for another algorithm', [{ ...own.jwk, alg: 'ES384' }]],
];
test.each(wrong)('an issuer publishes %s: 400, after one call', async (_, keys) => {
  const answer = await logInWith(keys);
  expectError(answer, { status: 400, error: 'invalid_grant' });
  expect(answer.calls).toBe(1);
});

test('a token whose key is not published yet may be sent again in a minute; a wrong signature not', async () => {
  const tooNew = await logInWith([{ ...own.jwk, kid: 'another' }]);
  const naming = /send the same token again in a minute/;
  expectError(tooNew, { status: 400, error: 'invalid_grant', naming });
  const forged = await logInWith([other.jwk]);
  expectError(forged, { status: 400, error: 'invalid_grant', naming: /^((?!again).)*$/ });
});
