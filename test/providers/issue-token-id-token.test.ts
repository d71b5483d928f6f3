import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { base64url, decodeJwt } from 'jose';
import { expectAnswer, expectError, tokenResponse } from '../support/expectations.ts';
import { newIssuerLogin } from '../support/issuer-login.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { now, sharedService, unique } from '../support/service.ts';

const service = sharedService();
const { byIdToken, credentials, demo } = service;
const issuer = `${demo.sandbox_url}/provider_f`;
const invalidGrant = { status: 400, error: 'invalid_grant' };
const day = 86_400;
const send = (id_token: string, more: Record<string, string> = {}, client = demo.login_app) =>
  byIdToken(id_token, client, more);

/** An id token of the provider for our app; null leaves a claim out. */
async function idToken(claims: Record<string, unknown> = {}): Promise<string> {
  const query = { subject: unique('alice'), claims: JSON.stringify(claims) };
  return (await credentials('provider_f', query)).id_token ?? '';
}

const valid = await idToken();
const ours = String(decodeJwt(valid).aud);

describe('provider_f, the claims of an id token that the provider has signed', () => {
  const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';
  const fusionAuth = { scope: 'openid', sid: 'x', email: 'a@b.example' };
  test.each<[string, () => Record<string, unknown>]>([
    ['another issuer', () => ({ iss: 'https://accounts.example' })],
    ['the issuer with a slash', () => ({ iss: `${issuer}/` })],
    ['no issuer', () => ({ iss: null })],
    ['another audience', () => ({ aud: 'another-app', azp: null })],
    ['an audience that only begins as ours', () => ({ aud: `${ours}-2`, azp: null })],
    ['no audience', () => ({ aud: null, azp: null })],
    ['an empty list of audiences', () => ({ aud: [], azp: null })],
    ['a foreign azp', () => ({ azp: 'another-app' })],
    ['an azp that is no text', () => ({ azp: [ours] })],
    ['several audiences, a foreign azp', () => ({ aud: [ours, 'x'], azp: 'x' })],
    ['several audiences without azp', () => ({ aud: [ours, 'x'], azp: null })],
    ['an audience that is an object', () => ({ aud: { toString: ours } })],
    ['a number among the audiences', () => ({ aud: [ours, 7], azp: ours })],
    ['an empty text among the audiences', () => ({ aud: [ours, ''], azp: ours })],
    ['a list of audiences that are no text', () => ({ aud: [7, {}, [ours]] })],
    ['an issuer that is a list', () => ({ iss: [issuer] })],
    ['no sub', () => ({ sub: null })],
    ['an empty sub', () => ({ sub: '' })],
    ['a sub that is a number', () => ({ sub: 7 })],
    ['a sub that is an object', () => ({ sub: { toString: 'x' } })],
    ['a sub of 256 characters', () => ({ sub: 'x'.repeat(256) })],
    ['a sub with half of a surrogate pair', () => ({ sub: `x\ud800${unique('')}` })],
    ['no exp', () => ({ exp: null })],
    ['an exp that is no number, but text', () => ({ exp: 'soon' })],
    ['an exp as text that is over', () => ({ exp: String(now() - 90) })],
    ['an exp more than 60 s ago', () => ({ exp: now() - 90 })],
    ['no iat', () => ({ iat: null })],
    ['an iat that is no number, but text', () => ({ iat: new Date().toISOString() })],
    ['an iat more than 60 s from now', () => ({ iat: now() + 90 })],
    ['an nbf more than 60 s from now', () => ({ nbf: now() + 90 })],
    ['an iat more than a day ago', () => ({ iat: now() - day - 90, exp: now() })],
    ['an exp more than a day after iat', () => ({ exp: now() + day + 90 })],
    ['an exp that is no date', () => ({ exp: 1e300 })],
    ['an iat that is no date', () => ({ iat: -1e300 })],
    ['the events of a logout token', () => ({ events: { [logoutEvent]: {} } })],
    ['the type of an access token', () => ({ typ: 'Bearer' })],
    ['a type that is no text', () => ({ typ: { toString: 'x' } })],
    ['the use of an access token', () => ({ token_use: 'access' })],
    ['the scopes of an access token, as Entra and Okta write them', () => ({ scp: 'openid' })],
    [
      'the list of scopes of an access token, as Spring writes it',
      () => ({ scope: ['openid'], azp: null }),
    ],
    ["what FusionAuth's access tokens have, too", () => ({ ...fusionAuth, auth_time: now() })],
    [
      "what authentik's access tokens have, too",
      () => ({ scope: 'openid', acr: 'default', amr: ['pwd'] }),
    ],
    ['a foreign client_id', () => ({ azp: null, client_id: 'another-app' })],
    ['a foreign cid', () => ({ azp: null, cid: 'another-app' })],
    ['a foreign appid', () => ({ azp: null, appid: 'another-app' })],
    ['our azp and a foreign client_id', () => ({ client_id: 'another-app' })],
    ['a client_id that is no text', () => ({ client_id: [ours] })],
  ])('%s: 400 invalid_grant', async (_, claims) => {
    expectError(await send(await idToken(claims())), invalidGrant);
  });

  test.each<[string, () => Record<string, unknown>]>([
    ['no other claims than those of the provider', () => ({})],
    ['one audience without azp', () => ({ azp: null })],
    ['a list of one audience without azp', () => ({ aud: [ours], azp: null })],
    ['several audiences with our azp', () => ({ aud: ['x', ours] })],
    ['an exp less than 60 s ago', () => ({ exp: now() - 20 })],
    ['times that are text', () => ({ iat: String(now()), exp: String(now() + 60) })],
    ['an iat less than 60 s from now', () => ({ iat: now() + 30 })],
    ['a sub of 255 characters', () => ({ sub: unique('').padEnd(255, 'x') })],
    ['the sub __proto__', () => ({ sub: '__proto__' })],
    ['a sub that is not ASCII', () => ({ sub: unique('алиса 🔑') })],
    ['an iat almost a day ago', () => ({ iat: now() - day + 30, exp: now() + 30 })],
    ['the type of an id token, as Keycloak writes it', () => ({ typ: 'ID' })],
    ['the use of an id token, as Cognito writes it', () => ({ token_use: 'id' })],
    ['our client_id, cid and appid', () => ({ client_id: ours, cid: ours, appid: ours })],
    ['a scope and a nonce', () => ({ scope: 'openid', nonce: 'n' })],
    ['a scope and an at_hash', () => ({ scope: 'openid', at_hash: 'x' })],
    ['a scope and a c_hash', () => ({ scope: ['openid'], c_hash: 'x' })],
    [
      "a list of scopes, in UAA's older id tokens",
      () => ({ scope: ['openid'], amr: ['pwd'], cid: ours }),
    ],
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
    expectError(
      await send(await idToken({ at_hash: whole }), { access_token: 'abc' }),
      invalidGrant,
    );
    const half = base64url.encode(new Uint8Array(digest.slice(0, 16)));
    const base64 = Buffer.from(digest.slice(0, 16)).toString('base64');
    // Some issuers pad the hash, or write it as base64.
    for (const at_hash of [half, `${half}==`, base64]) {
      const answer = await send(await idToken({ at_hash }), { access_token: 'abc' });
      expect([at_hash, answer.status]).toEqual([at_hash, 200]);
    }
  });
});

const sha256 = (text: string, encoding: 'hex' | 'base64url' | 'base64'): string =>
  createHash('sha256').update(text).digest(encoding);
const standIn = await startProviderStandIn();
const nonce = 'n-0S6_WzA2Mj';

describe('provider_f, the parameter nonce', () => {
  test.each<[string, unknown]>([
    ['another nonce', 'another'],
    ["another nonce's hash", sha256('another', 'hex')],
    ['none', null],
    ['a number', 7],
  ])('the id token has %s: 400 invalid_grant', async (_, claim) => {
    expectError(await send(await idToken({ nonce: claim }), { nonce }), invalidGrant);
  });

  test('left out, though the id token has one, as SDKs add one on their own: 200', async () => {
    expectAnswer(await send(await idToken({ nonce })), 200, tokenResponse);
  });

  describe.each<[string, { plain: number; hash: number; hashItself: number }]>([
    ['plain', { plain: 200, hash: 400, hashItself: 200 }],
    ['sha256', { plain: 400, hash: 200, hashItself: 400 }],
    ['either', { plain: 200, hash: 200, hashItself: 200 }],
  ])('of an issuer whose nonce_form is %s', (nonce_form, statuses) => {
    test.each(['hex', 'base64url'] as const)(
      'counts in that form alone, hashed in %s',
      async (encoding) => {
        const { app, scene } = await newIssuerLogin(service, standIn, { nonce_form });
        const hash = sha256(nonce, encoding);
        const sent = async (claim: string, value: string) =>
          (await send(await scene.idToken({ nonce: claim }), { nonce: value }, app)).status;
        const [plain, hashed] = [await sent(nonce, nonce), await sent(hash, nonce)];
        expect({ plain, hash: hashed, hashItself: await sent(hash, hash) }).toEqual(statuses);
      },
    );
  });

  test('of an issuer that requires it, left out: 400 naming it; else it must be that of the id token', async () => {
    const { app, scene } = await newIssuerLogin(service, standIn, { nonce: 'required' });
    const id_token = await scene.idToken({ nonce });
    const naming = 'The parameter nonce is required for this issuer.';
    expectError(await send(id_token, {}, app), { status: 400, error: 'invalid_request', naming });
    expectError(await send(id_token, { nonce: 'another' }, app), invalidGrant);
    expectError(await send(await scene.idToken(), { nonce }, app), invalidGrant);
    expectAnswer(await send(id_token, { nonce }, app), 200, tokenResponse);
  });
});
