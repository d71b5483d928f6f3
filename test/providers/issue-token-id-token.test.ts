import { beforeAll, describe, expect, test } from '@jest/globals';
import {
  base64url,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  importJWK,
  type JWK,
  type JWTHeaderParameters,
  type JWTPayload,
  SignJWT,
} from 'jose';
import { expectAnswer, expectError, tokenResponse } from '../support/expectations.ts';
import { sharedService, unique } from '../support/service.ts';

const { credentials, demo, logIn, token } = sharedService();
const issuer = `${demo.sandbox_url}/provider_f`;
const invalidGrant = { status: 400, error: 'invalid_grant' };
const day = 86_400;
const now = () => Math.floor(Date.now() / 1000);

const send = (id_token: string, more: Record<string, string> = {}) =>
  token({ grant_type: 'provider_credentials', provider: 'provider_f', id_token, ...more });

/** An id token of the provider for our app; null leaves a claim out. */
async function idToken(claims: Record<string, unknown> = {}): Promise<string> {
  const query = { subject: unique('alice'), claims: JSON.stringify(claims) };
  return (await credentials('provider_f', query)).id_token ?? '';
}

const encoded = (value: unknown): string => base64url.encode(JSON.stringify(value));

let publicJwk: JWK;
let validHeader: JWTHeaderParameters;
let validClaims: JWTPayload;

beforeAll(async () => {
  const discovery = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
  const { keys } = (await (await fetch(Object(discovery).jwks_uri)).json()) as { keys: JWK[] };
  const valid = await idToken();
  validHeader = { alg: 'ES256', ...decodeProtectedHeader(valid) };
  validClaims = decodeJwt(valid);
  publicJwk = keys.find(({ kid }) => kid === validHeader.kid) ?? {};
  expectAnswer(await send(valid), 200, tokenResponse);
});

describe('provider_f, an id token that somebody else has made', () => {
  test.each(['none', 'None', 'NONE', 'nOnE', ''])('alg %j, unsigned: 400 invalid_grant', async (alg) => {
    const unsigned = `${encoded({ ...validHeader, alg })}.${encoded(validClaims)}.`;
    expectError(await send(unsigned), invalidGrant);
    expectError(await send(`${unsigned}${base64url.encode('signature')}`), invalidGrant);
    expectError(await send(unsigned.slice(0, -1)), invalidGrant);
  });

  test.each(['HS256', 'HS384', 'HS512'])('%s signed with the public key: 400 invalid_grant', async (alg) => {
    const key = await importJWK(publicJwk, 'ES256', { extractable: true });
    if (key instanceof Uint8Array) throw new Error('The provider publishes no asymmetric key.');
    const spki = await exportSPKI(key);
    const secrets = [
      spki,
      `${spki}\n`,
      spki.trim(),
      spki.replace(/-----.*-----|\s/g, ''),
      JSON.stringify(publicJwk),
      publicJwk.x ?? '',
    ];
    for (const secret of secrets) {
      const forged = await new SignJWT(validClaims)
        .setProtectedHeader({ ...validHeader, alg })
        .sign(new TextEncoder().encode(secret));
      expectError(await send(forged), invalidGrant);
    }
  });

  test.each(['ES256', 'RS256', 'PS256', 'EdDSA', 'ES384'])(
    'a foreign %s key under the same kid: 400 invalid_grant',
    async (alg) => {
      const { privateKey } = await generateKeyPair(alg);
      const forged = await new SignJWT(validClaims)
        .setProtectedHeader({ ...validHeader, alg })
        .sign(privateKey);
      expectError(await send(forged), invalidGrant);
    },
  );

  test('a foreign key under an unknown kid, or none: 400 invalid_grant', async () => {
    const { privateKey } = await generateKeyPair('ES256');
    for (const header of [{ alg: 'ES256', kid: 'another' }, { alg: 'ES256' }]) {
      const forged = await new SignJWT(validClaims).setProtectedHeader(header).sign(privateKey);
      expectError(await send(forged), invalidGrant);
    }
  });

  test.each(['jwk', 'jku', 'x5u', 'x5c'])('its key in the header (%s): 400 invalid_grant', async (name) => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const jwk = { ...(await exportJWK(publicKey)), kid: validHeader.kid, alg: 'ES256', use: 'sig' };
    const values = { jwk, jku: `${issuer}/jwks`, x5u: `${issuer}/jwks`, x5c: ['MIIB'] };
    const own = { [name]: Reflect.get(values, name) };
    for (const header of [
      { ...validHeader, ...own },
      { alg: 'ES256', ...own },
    ]) {
      const forged = await new SignJWT(validClaims).setProtectedHeader(header).sign(privateKey);
      expectError(await send(forged), invalidGrant);
    }
  });

  test('a critical extension that nobody knows: 400 invalid_grant', async () => {
    const [, payload, signature] = (await idToken()).split('.');
    const header = encoded({ ...validHeader, crit: ['exp'], exp: now() + 60 });
    expectError(await send(`${header}.${payload}.${signature}`), invalidGrant);
  });

  test('claims swapped under a valid signature: 400 invalid_grant', async () => {
    const [mine = '', other = ''] = await Promise.all([idToken(), idToken()]);
    const [header, payload, signature] = mine.split('.');
    const [, otherPayload, otherSignature] = other.split('.');
    const another = encoded({ ...decodeJwt(mine), sub: 'somebody-else' });
    expectError(await send(`${header}.${otherPayload}.${signature}`), invalidGrant);
    expectError(await send(`${header}.${payload}.${otherSignature}`), invalidGrant);
    expectError(await send(`${header}.${another}.${signature}`), invalidGrant);
    expectError(await send(`${header}.${payload}.`), invalidGrant);
    expectError(await send(`${header}.${payload}.${'A'.repeat(86)}`), invalidGrant);
  });

  test.each([
    ['no dots', () => 'abc'],
    ['two dots alone', () => '..'],
    ['five parts', () => 'a.b.c.d.e'],
    ['a header that is no JSON', () => `${base64url.encode('{')}.${encoded({})}.AAAA`],
    ['a header that is null', () => `${encoded(null)}.${encoded({})}.AAAA`],
    ['a header that is a list', () => `${encoded([])}.${encoded({})}.AAAA`],
    ['a kid that is no text', () => `${encoded({ alg: 'ES256', kid: 7 })}.${encoded(validClaims)}.AAAA`],
    ['an alg that is no text', () => `${encoded({ alg: ['ES256'] })}.${encoded(validClaims)}.AAAA`],
    [
      'the kid __proto__',
      () => `${encoded({ alg: 'ES256', kid: '__proto__' })}.${encoded(validClaims)}.${'A'.repeat(86)}`,
    ],
    ['claims that are no JSON', () => `${encoded(validHeader)}.${base64url.encode('x')}.${'A'.repeat(86)}`],
  ])('%s: 400 invalid_grant', async (_, text) => {
    expectError(await send(text()), invalidGrant);
  });

  test("the service's own Login User Token: 400 invalid_grant", async () => {
    const { access_token } = (await logIn(unique('alice'))).body;
    expectError(await send(access_token), invalidGrant);
  });
});

describe('provider_f, the claims of an id token that the provider has signed', () => {
  const ours = () => String(validClaims.aud);

  test.each<[string, () => Record<string, unknown>]>([
    ['another issuer', () => ({ iss: 'https://accounts.example' })],
    ['the issuer with a slash', () => ({ iss: `${issuer}/` })],
    ['no issuer', () => ({ iss: null })],
    ['another audience', () => ({ aud: 'another-app', azp: null })],
    ['an audience that only begins as ours', () => ({ aud: `${ours()}-2`, azp: null })],
    ['no audience', () => ({ aud: null, azp: null })],
    ['an empty list of audiences', () => ({ aud: [], azp: null })],
    ['a foreign azp', () => ({ azp: 'another-app' })],
    ['an azp that is no text', () => ({ azp: [ours()] })],
    ['several audiences, a foreign azp', () => ({ aud: [ours(), 'x'], azp: 'x' })],
    ['several audiences without azp', () => ({ aud: [ours(), 'x'], azp: null })],
    ['no sub', () => ({ sub: null })],
    ['an empty sub', () => ({ sub: '' })],
    ['a sub that is a number', () => ({ sub: 7 })],
    ['a sub that is an object', () => ({ sub: { toString: 'x' } })],
    ['a sub of 256 characters', () => ({ sub: 'x'.repeat(256) })],
    ['a sub with half of a surrogate pair', () => ({ sub: `x\ud800${unique('')}` })],
    ['no exp', () => ({ exp: null })],
    ['an exp that is text', () => ({ exp: String(now() + 60) })],
    ['an exp more than 60 s ago', () => ({ exp: now() - 90 })],
    ['no iat', () => ({ iat: null })],
    ['an iat that is text', () => ({ iat: String(now()) })],
    ['an iat more than 60 s from now', () => ({ iat: now() + 90 })],
    ['an nbf more than 60 s from now', () => ({ nbf: now() + 90 })],
    ['an iat more than a day ago', () => ({ iat: now() - day - 90, exp: now() })],
    ['an exp more than a day after iat', () => ({ exp: now() + day + 90 })],
    ['an exp that is no date', () => ({ exp: 1e300 })],
    ['an iat that is no date', () => ({ iat: -1e300 })],
    [
      'the events of a logout token',
      () => ({ events: { 'http://schemas.openid.net/event/backchannel-logout': {} } }),
    ],
    ['the type of an access token', () => ({ typ: 'Bearer' })],
    ['a type that is no text', () => ({ typ: { toString: 'x' } })],
    ['the use of an access token', () => ({ token_use: 'access' })],
  ])('%s: 400 invalid_grant', async (_, claims) => {
    expectError(await send(await idToken(claims())), invalidGrant);
  });

  test.each<[string, () => Record<string, unknown>]>([
    ['one audience without azp', () => ({ azp: null })],
    ['a list of one audience without azp', () => ({ aud: [ours()], azp: null })],
    ['several audiences with our azp', () => ({ aud: ['x', ours()] })],
    ['an exp less than 60 s ago', () => ({ exp: now() - 20 })],
    ['an iat less than 60 s from now', () => ({ iat: now() + 30 })],
    ['a sub of 255 characters', () => ({ sub: unique('').padEnd(255, 'x') })],
    ['the sub __proto__', () => ({ sub: '__proto__' })],
    ['a sub that is not ASCII', () => ({ sub: unique('алиса 🔑') })],
    ['an iat almost a day ago', () => ({ iat: now() - day + 30, exp: now() + 30 })],
    ['the type of an id token, as Keycloak writes it', () => ({ typ: 'ID' })],
    ['the use of an id token, as Cognito writes it', () => ({ token_use: 'id' })],
    ['claims that nobody knows', () => ({ constructor: 'x', nested: { ['__proto__']: 1 } })],
  ])('%s: 200', async (_, claims) => {
    expectAnswer(await send(await idToken(claims())), 200, tokenResponse);
  });
});

describe('provider_f, access_token beside id_token', () => {
  const both = async () => {
    const query = { subject: unique('alice'), with_access_token: 'true' };
    const { id_token = '', access_token = '' } = await credentials('provider_f', query);
    return { id_token, access_token };
  };

  test('the one that the id token vouches for: 200', async () => {
    const { id_token, access_token } = await both();
    expectAnswer(await send(id_token, { access_token }), 200, tokenResponse);
    expectAnswer(await send(id_token), 200, tokenResponse);
  });

  test('another one: 400 invalid_grant', async () => {
    const [mine, other] = await Promise.all([both(), both()]);
    expectError(await send(mine.id_token, { access_token: other.access_token }), invalidGrant);
  });

  test.each([7, '', 'x', [], {}, true])('at_hash %j: 400 invalid_grant', async (at_hash) => {
    expectError(await send(await idToken({ at_hash }), { access_token: 'abc' }), invalidGrant);
  });

  test('the whole hash is not its left half: 400 invalid_grant', async () => {
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode('abc'));
    const whole = base64url.encode(new Uint8Array(digest));
    expectError(await send(await idToken({ at_hash: whole }), { access_token: 'abc' }), invalidGrant);
    const half = base64url.encode(new Uint8Array(digest.slice(0, 16)));
    expect((await send(await idToken({ at_hash: half }), { access_token: 'abc' })).status).toBe(200);
  });
});
