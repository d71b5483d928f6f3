import { KeyObject, sign } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair } from 'jose';
import { expectAnswer, expectError, tokenResponse } from '../support/expectations.ts';
import { newPhone, newPublicClient } from '../support/phone.ts';
import { now } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';

const { proxy, running, service } = await sharedServiceWithStore();
const invalidProof = { status: 400, error: 'invalid_dpop_proof' };
const invalidGrant = { status: 400, error: 'invalid_grant' };
const useNonce = { status: 400, error: 'use_dpop_nonce' };
const client = await newPublicClient(service);
const phone = await newPhone(service, client);

const session = async (of = phone): Promise<string> => (await of.logIn()).body.refresh_token;

/** A session goes on: what was refused before has not ended it. */
const expectAlive = async (refresh_token: string, of = phone) =>
  expectAnswer(await of.refresh(refresh_token), 200, tokenResponse);

const { privateKey } = await generateKeyPair('ES256', { extractable: true });
const privateJwk = await exportJWK(privateKey);
const forger = await newPhone(service, client, { signer: privateKey });
const es384 = await newPhone(service, client, { alg: 'ES384' });

/**
 * The same proof with the form of a signature that many libraries and the hardware of phones give.
 */
function signedInDer(proof: string): string {
  const text = proof.split('.').slice(0, 2).join('.');
  const signature = sign('sha256', Buffer.from(text), KeyObject.from(privateKey));
  return `${text}.${signature.toString('base64url')}`;
}

const address =
  /^The claim htu of the proof must be http:.*\/v2\/marketing\/oauth\/(token|revoke)\.$/;
const publicKey = /^The jwk in the header of the proof must be a public key on P-256/;
const noneAsAlgorithm = `${btoa('{"alg":"none","typ":"dpop+jwt"}')}.${btoa('{}')}.`;

/** @see RFC 7515, section 4.1.9 */
test.each(['DPoP+JWT', 'application/dpop+jwt'])('a proof whose typ is spelt %s', async (typ) => {
  expect(
    (await phone.refresh(await session(), await phone.proof('token', {}, { typ }))).status,
  ).toBe(200);
});

test('the exp and nbf of a proof may be off by a minute, as its iat', async () => {
  const token = await session();
  const proof = await phone.proof('token', { exp: now() - 30, nbf: now() + 30 });
  expect((await phone.refresh(token, proof)).status).toBe(200);
});

/** @see RFC 9449, section 4.3 */
describe('a proof that is refused leaves the session alive', () => {
  test.each<[string, (endpoint: string) => Promise<string | null>, naming: RegExp]>([
    ['none', async () => null, /header DPoP/],
    ['another method', (at) => phone.proof(at, { htm: 'GET' }), /claim htm .* must be POST/],
    ['no method', (at) => phone.proof(at, { htm: undefined }), /have the claim htm/],
    ['another endpoint', (at) => phone.proof(at === 'token' ? 'revoke' : 'token'), address],
    [
      'another host',
      (at) => phone.proof(at, { htu: 'https://other.example/oauth/token' }),
      address,
    ],
    ['a path alone', (at) => phone.proof(at, { htu: `/v2/marketing/oauth/${at}` }), address],
    ['no address', (at) => phone.proof(at, { htu: undefined }), /have the claim htu/],
    ['no jti', (at) => phone.proof(at, { jti: undefined }), /have the claim jti/],
    ['an empty jti', (at) => phone.proof(at, { jti: '' }), /claim jti/],
    ['no iat', (at) => phone.proof(at, { iat: undefined }), /have the claim iat/],
    [
      'an iat that is a text',
      (at) => phone.proof(at, { iat: `${now()}` }),
      /claim iat .* a number/,
    ],
    ['a nonce that is a number', (at) => phone.proof(at, { nonce: 1 }), /claim nonce .* a text/],
    ['the typ of a JWT', (at) => phone.proof(at, {}, { typ: 'JWT' }), /typ .* dpop\+jwt/],
    ['an end that has passed', (at) => phone.proof(at, { exp: now() - 61 }), /by its exp or nbf/],
    [
      'a beginning that is to come',
      (at) => phone.proof(at, { nbf: now() + 90 }),
      /by its exp or nbf/,
    ],
    [
      'an end that is a text',
      (at) => phone.proof(at, { exp: 'tomorrow' }),
      /claim exp .* a number/,
    ],
    ['another algorithm', (at) => es384.proof(at), /alg .* ES256/],
    ['none as algorithm', async () => noneAsAlgorithm, /a JWT/],
    ['a critical extension', (at) => phone.proof(at, {}, { crit: ['b64'], b64: true }), /crit/],
    [
      'a key that has not signed',
      (at) => forger.proof(at, {}, { jwk: phone.jwk }),
      /not by the key/,
    ],
    ['a private key', (at) => forger.proof(at, {}, { jwk: privateJwk }), /private key \(d\)/],
    [
      'a key that is no point',
      (at) => phone.proof(at, {}, { jwk: { ...phone.jwk, x: 'AAAA' } }),
      publicKey,
    ],
    ['a key of another curve', (at) => phone.proof(at, {}, { jwk: es384.jwk }), publicKey],
    ['a key that is a text', (at) => phone.proof(at, {}, { jwk: 'x' }), publicKey],
    ['a shared secret', (at) => phone.proof(at, {}, { jwk: { kty: 'oct', k: 'AAAA' } }), publicKey],
    ['no key', (at) => phone.proof(at, {}, { jwk: undefined }), /have jwk/],
    ['two proofs', async (at) => `${await phone.proof(at)}, ${await phone.proof(at)}`, /a JWT/],
    ['a cut one', async (at) => (await phone.proof(at)).slice(0, -1), /64 bytes/],
    ['a signature in DER', async (at) => signedInDer(await phone.proof(at)), /64 bytes .* DER/],
    ['no JWT', async () => 'x', /a JWT/],
  ])('%s: a 400 that names it', async (_, proof, naming) => {
    const token = await session();
    expectError(await phone.refresh(token, await proof('token')), { ...invalidProof, naming });
    const revoking = await phone.send('revoke', { token }, await proof('revoke'));
    expectError(revoking, { ...invalidProof, naming });
    await expectAlive(token);
  });

  test('a replayed one, also at once: one of eight passes', async () => {
    const token = await session();
    const proof = await phone.proof('token');
    const answers = await Promise.all(Array.from({ length: 8 }, () => phone.refresh(token, proof)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(7).fill(400)]);
    const naming = 'The proof has been used; make a new one for each request.';
    expectError(await phone.refresh(token, proof), { ...invalidProof, naming });
    await expectAlive(token);
  });

  test('one that a login has used: a second login needs a new one', async () => {
    const [first, second] = [await phone.loginForm(), await phone.loginForm()];
    const proof = await phone.proof('token');
    expectAnswer(await phone.send('token', first, proof), 200, tokenResponse);
    const naming = 'The proof has been used; make a new one for each request.';
    expectError(await phone.send('token', second, proof), { ...invalidProof, naming });
  });

  test('the key of session A cannot refresh session B, nor end it', async () => {
    const other = await newPhone(service, client);
    const [a, b] = [await session(), await session(other)];
    expectError(await phone.refresh(b), invalidProof);
    expectAnswer(await phone.send('revoke', { token: b }), 200, {});
    await expectAlive(a);
    await expectAlive(b, other);
  });

  test('a stolen refresh token and the client id, without the key', async () => {
    const token = await session();
    const thief = await newPhone(service, client);
    await thief.logIn();
    const naming = 'The proof must be by the key that the person logged in with.';
    expectError(await thief.refresh(token), { ...invalidProof, naming });
    expectError(await service.refresh(token), invalidGrant);
    await expectAlive(token);
  });
});

/**
 * Somebody who has had the key for a moment has made proofs for years.
 * @see RFC 9449, section 11.2
 */
describe('a proof that was made in advance', () => {
  test('refreshes nothing without a nonce of the service', async () => {
    const token = await session();
    const naming =
      /^The proof has no nonce of the service, or one that has expired: .* DPoP-Nonce\.$/;
    for (const later of [0, 3600]) {
      const proof = await phone.proof('token', { nonce: undefined, iat: now() + later });
      running.advance(later);
      expectError(await phone.refresh(token, proof), { ...useNonce, naming });
    }
    running.resetClock();
    await expectAlive(token);
  });

  test('refreshes with a nonce for as long as an access token lives, and ten minutes', async () => {
    const login = await phone.logIn();
    const nonce = login.headers.get('dpop-nonce');
    expect(nonce).toMatch(/^ln\./);
    const inTime = await phone.proof('token', { nonce });
    const late = await phone.proof('token', { nonce });
    running.advance(login.body.expires_in + 595);
    const next = await phone.refresh(login.body.refresh_token, inTime);
    running.advance(10);
    const refused = await phone.refresh(next.body.refresh_token, late);
    running.resetClock();
    expectAnswer(next, 200, tokenResponse);
    expectError(refused, useNonce);
  });

  test('is not needed: each answer has the nonce of the next proof', async () => {
    let answer = await phone.logIn();
    for (let times = 0; times < 3; times += 1) {
      const nonce = answer.headers.get('dpop-nonce');
      const proof = await phone.proof('token', { nonce });
      answer = await phone.refresh(answer.body.refresh_token, proof);
      expectAnswer(answer, 200, tokenResponse);
    }
    const revoked = await phone.send('revoke', { token: answer.body.refresh_token });
    expect(revoked.headers.get('dpop-nonce')).toMatch(/^ln\./);
  });

  test('is no matter of confidential clients, which get no nonce', async () => {
    const answer = await service.token(await service.loginForm('provider_f'));
    expectAnswer(answer, 200, tokenResponse);
    expect(answer.headers.get('dpop-nonce')).toBeNull();
  });
});

describe('a phone whose clock is wrong', () => {
  test.each([-86_400, -61, 61, 86_400])(
    'by %i s: a nonce, and then the same request passes',
    async (by) => {
      const form = await phone.loginForm();
      const iat = now() + by;
      const refused = await phone.send(
        'token',
        form,
        await phone.proof('token', { iat, nonce: undefined }),
      );
      expectError(refused, { ...useNonce, naming: /^The proof is not of this minute/ });
      const nonce = refused.headers.get('dpop-nonce');
      const login = await phone.send('token', form, await phone.proof('token', { iat, nonce }));
      expectAnswer(login, 200, tokenResponse);
      const proof = await phone.proof('token', { iat, nonce });
      const next = await phone.refresh(login.body.refresh_token, proof);
      expectAnswer(next, 200, tokenResponse);
      expectError(await phone.refresh(next.body.refresh_token, proof), invalidProof);
    },
  );

  test.each([-55, 55])('by %i s is in time for a login', async (by) => {
    const proof = await phone.proof('token', { iat: now() + by, nonce: undefined });
    expect((await phone.send('token', await phone.loginForm(), proof)).status).toBe(200);
  });

  test('a nonce that is made up, or of a login: another one', async () => {
    const token = await session();
    for (const nonce of ['x', await phone.nonce()])
      expectError(await phone.refresh(token, await phone.proof('token', { nonce })), useNonce);
    await expectAlive(token);
  });
});

describe('garbage from anybody writes nothing', () => {
  const login = { grant_type: 'provider_credentials', provider: 'provider_f', id_token: 'x' };
  const code = {
    grant_type: 'provider_authorization_code',
    provider: 'provider_b',
    authorization_code: 'x',
  };
  test.each<[string, string, () => Promise<Record<string, string>>]>([
    ['no grant', 'token', async () => ({})],
    ['a grant that it may not use', 'token', async () => ({ grant_type: 'client_credentials' })],
    ['a refresh token', 'token', async () => ({ grant_type: 'refresh_token', refresh_token: 'x' })],
    ['a made-up nonce', 'token', async () => ({ ...login, nonce: 'x' })],
    ['an id token', 'token', async () => ({ ...login, nonce: await phone.nonce() })],
    ['a code', 'token', async () => code],
    ['a token to revoke', 'revoke', async () => ({ token: 'x' })],
    ['no token to revoke', 'revoke', async () => ({})],
  ])('%s', async (_, endpoint, form) => {
    const sent = await form();
    proxy.forget();
    for (let times = 0; times < 3; times += 1) await phone.send(endpoint, sent);
    expect(proxy.calls().filter(({ operation }) => /Put|Update|Transact/.test(operation))).toEqual(
      [],
    );
  });
});

/**
 * Anybody can be a public client.
 * @see RFC 7009, section 2.2
 */
describe('revocation tells a public client nothing about a token', () => {
  test('of another client, key or kind, or none: the same 200, and the session goes on', async () => {
    const { login_app_id } = service.demo.login_app;
    const other = await newPhone(service, client);
    const ofOtherKey = await session(other);
    const confidential = (await service.token(await service.loginForm('provider_f'))).body;
    const longLived = { 'login-app': login_app_id, name: 'revoked by a phone' };
    const appToken = await service.operate('login-apps', 'tokens create', longLived);
    const tokens: string[] = [
      ofOtherKey,
      confidential.refresh_token,
      confidential.access_token,
      await service.loginAppToken(),
      Object(appToken).login_app_token,
      'x',
    ];
    for (const token of tokens) expectAnswer(await phone.send('revoke', { token }), 200, {});
    await expectAlive(ofOtherKey, other);
    expectAnswer(await service.refresh(confidential.refresh_token), 200, tokenResponse);
  });

  test('its own session ends, also by a proof without a nonce', async () => {
    const token = await session();
    const proof = await phone.proof('revoke', { nonce: undefined });
    expectAnswer(await phone.send('revoke', { token }, proof), 200, {});
    expectError(await phone.refresh(token), invalidGrant);
  });
});
