import { describe, expect, test } from '@jest/globals';
import { base64url, CompactSign, importJWK } from 'jose';
import { createClient } from '../support/login-app.ts';
import { ownService } from '../support/own-service.ts';
import { type Service, sharedService, unique } from '../support/service.ts';
import { stolenSigningKeys } from '../support/stolen-signing-keys.ts';
import { forgeries, type TakenToken, takenToken } from '../support/tokens.ts';

/** A service that signs with ES256, and one of another deployment, which signs with RS256. */
const { running, service } = await ownService({ TOKEN_ALGORITHM: 'ES256' });
const elsewhere = sharedService();

/** A token, and the service that has issued it. */
type Taken = TakenToken & { service: Service };

async function take(from: Service): Promise<{ user: Taken; app: Taken }> {
  const { body: published } = await from.call('/v2/marketing/oauth/jwks');
  const taken = (token: string) => ({ service: from, ...takenToken(token, published) });
  const { access_token } = (await from.logIn(unique('alice'))).body;
  return { user: taken(access_token), app: taken(await from.loginAppToken()) };
}
const [es256, rs256] = [await take(service), await take(elsewhere)];

/** Nothing that takes a token takes this one, and nothing answers that it has failed. */
async function expectWorthless(at: Service, token: string): Promise<void> {
  const device = { platform: 'android', token: unique('phone') };
  const [registered, listed, described, revoked] = await Promise.all([
    at.register(device, token),
    at.listDevices(token),
    at.introspect(token),
    at.revoke(token),
  ]);
  expect([registered, listed].map(({ status, body }) => [status, body.error])).toEqual([
    [401, 'invalid_token'],
    [401, 'invalid_token'],
  ]);
  expect(described.text).toBe('{"active":false}');
  expect(revoked.status).toBe(200);
}

const bytes = (text: string) => new TextEncoder().encode(text);
const encoded = (value: unknown): string => base64url.encode(JSON.stringify(value));
describe('a token that somebody else has made is worthless', () => {
  test.each(forgeries)('[%s] %s', async (_source, _what, forge) => {
    for (const taken of [es256, rs256].flatMap(Object.values<Taken>))
      await expectWorthless(taken.service, await forge(taken));
  });

  test('[RFC 8725 2.7] the token of another deployment', async () => {
    for (const [own, foreign] of [
      [service, rs256],
      [elsewhere, es256],
    ] as const)
      for (const { token } of Object.values(foreign)) await expectWorthless(own, token);
  });

  test('[CWE-400] a token of 60 kB', async () => {
    const { status, text } = await service.introspect(
      `${encoded({ alg: 'ES256' })}.${'A'.repeat(60_000)}.A`,
    );
    expect([status, text]).toEqual([200, '{"active":false}']);
  });
});

/** A token is for one use, though all are signed by the same key. */
describe('a token of another kind is no access token', () => {
  test("[RFC 8725 3.12] a provider's id token", async () => {
    const { id_token = '' } = await service.credentials('provider_f', { subject: unique('alice') });
    await expectWorthless(service, id_token);
  });

  test('[RFC 8725 3.12] an access token refreshes no session', async () => {
    expect((await service.refresh(es256.user.token)).body.error).toBe('invalid_grant');
  });

  test('[RFC 8725 3.12] an access token is no id token', async () => {
    for (const { user } of [es256, rs256])
      expect((await user.service.byIdToken(user.token)).body.error).toBe('invalid_grant');
  });

  const path = '/v2/marketing/login/user/push_notifications/devices';

  test('[RFC 6750 2] two different tokens in the two headers', async () => {
    const other = (await service.logIn(unique('bob'))).body.access_token;
    const headers = {
      authorization: `Bearer ${es256.user.token}`,
      authentication: `Bearer ${other}`,
    };
    expect((await service.call(path, { headers })).status).toBe(401);
  });

  test.each(['access_token', 'refresh_token', 'token'])(
    '[RFC 9700 4.3.2] %s in the query',
    async (name) => {
      expect((await service.call(`${path}?${name}=${es256.user.token}`)).status).toBe(401);
    },
  );
});

/** As if a fault in the issuance, or in another service that shares the key, had signed it. */
const sibling = await createClient(service, service.demo.login_app.login_app_id);
const key = await importJWK((await stolenSigningKeys(running)).current);
describe('a token that is signed by our own key, but is not what we issue, is worthless', () => {
  /** @param payload text, since `SignJWT` would not write what no issuer should */
  const signed = ({ header }: Taken, payload: string, more: object = {}) =>
    new CompactSign(bytes(payload))
      .setProtectedHeader({ ...header, ...more })
      .sign(key, { crit: { x: true } });
  const signedClaims = (taken: Taken, claims: object, header: object = {}) =>
    signed(taken, JSON.stringify({ ...taken.claims, ...claims }), header);

  test.each(Object.entries(es256))(
    'control: the %s’s own claims, signed again, count',
    async (_, taken) => {
      expect((await service.introspect(await signedClaims(taken, {}))).body.active).toBe(true);
    },
  );

  test.each<[string, string, object]>([
    ['finding', 'no sub', { sub: undefined }],
    ['finding', 'a sub that is a number', { sub: 7 }],
    ['finding', 'no audience', { aud: undefined }],
    ['finding', 'a list of audiences', { aud: ['la_AAAAAAAAAAAAAAAAAAAAAA'] }],
    ['finding', 'an audience that is an object', { aud: { toString: 'x' } }],
    ['finding', 'no client', { client_id: undefined }],
    ['finding', 'a client that is a list', { client_id: ['x'] }],
    ['finding', 'no jti', { jti: undefined }],
    ['finding', 'no iat', { iat: undefined }],
    ['finding', 'an iat that is text', { iat: 'yesterday' }],
    ['finding', 'no exp', { exp: undefined }],
    ['finding', 'an exp that is text', { exp: '9999999999' }],
    ['finding', 'an exp that is null', { exp: null }],
    ['finding', 'no use', { token_use: undefined }],
    ['finding', 'an unknown use', { token_use: 'operator' }],
    ['finding', 'a use that is a list', { token_use: ['login_user'] }],
    ['finding', 'the scope of another use', { scope: 'operator' }],
    ['RFC 8725 3.8', 'another issuer', { iss: 'https://login.example' }],
  ])('[%s] %s', async (_source, _what, claims) => {
    for (const taken of Object.values(es256))
      await expectWorthless(service, await signedClaims(taken, claims));
  });

  test.each<[string, string, (taken: Taken) => Promise<string>]>([
    [
      'finding',
      'no session',
      (taken) => signedClaims(taken, { sid: undefined, token_use: 'login_user' }),
    ],
    [
      'finding',
      'a session that is an object',
      (taken) => signedClaims(taken, { sid: {}, token_use: 'login_user' }),
    ],
    ['finding', 'claims that are a list', (taken) => signed(taken, '[]')],
    ['finding', 'claims that are null', (taken) => signed(taken, 'null')],
    ['finding', 'claims that are no JSON', (taken) => signed(taken, 'x')],
    ['finding', 'an exp beyond all numbers', (taken) => signed(taken, withInfiniteEnd(taken))],
    [
      'RFC 8725 3.11',
      'the type of an id token',
      (taken) => signedClaims(taken, {}, { typ: 'JWT' }),
    ],
    [
      'RFC 8725 3.11',
      'the type of a logout token',
      (taken) => signedClaims(taken, {}, { typ: 'logout+jwt' }),
    ],
    [
      'RFC 8725 3.11',
      'a type that is a list',
      (taken) => signedClaims(taken, {}, { typ: ['at+jwt'] }),
    ],
    [
      'RFC 7515 4.1.11',
      'a critical extension that nobody knows',
      (taken) => signedClaims(taken, {}, { crit: ['x'], x: 1 }),
    ],
  ])('[%s] %s', async (_source, _what, forge) => {
    for (const taken of Object.values(es256)) await expectWorthless(service, await forge(taken));
  });

  const withInfiniteEnd = ({ claims }: Taken): string =>
    JSON.stringify(claims).replace(/"exp":\d+/, '"exp":1e999');

  const { other_login_app } = service.demo;
  const { client_id, login_app_id: aud } = other_login_app;

  /** The other Login App could otherwise introspect, or use, what is somebody else's. */
  test.each<[string, keyof typeof es256, object]>([
    ['another Login App’s audience for a session of this one', 'user', { aud }],
    [
      'another Login App’s audience and client for a session of this one',
      'user',
      { aud, client_id },
    ],
    [
      'another client of the same Login App for a session of this one',
      'user',
      { client_id: sibling.client_id },
    ],
    ['a Login App Token for another Login App than its client’s', 'app', { aud }],
  ])('[finding] %s', async (_, use, claims) => {
    const token = await signedClaims(es256[use], claims);
    await expectWorthless(service, token);
    expect((await service.introspect(token, other_login_app)).text).toBe('{"active":false}');
    await service.revoke(token, other_login_app);
    expect((await service.listDevices(es256.user.token)).status).toBe(200);
  });
});
