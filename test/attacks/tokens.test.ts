import { beforeAll, describe, expect, test } from '@jest/globals';
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

const byTheKeyOf = { es256: new Map<string, Taken>(), rs256: new Map<string, Taken>() };
let everyToken: Taken[];
let idToken: string;
let refreshToken: string;

async function take(from: Service, token: string): Promise<Taken> {
  return { service: from, ...takenToken(token, (await from.call('/v2/marketing/oauth/jwks')).body) };
}

beforeAll(async () => {
  for (const [algorithm, from] of [
    ['es256', service],
    ['rs256', elsewhere],
  ] as const) {
    const person = (await from.logIn(unique('alice'))).body;
    byTheKeyOf[algorithm].set('user', await take(from, person.access_token));
    byTheKeyOf[algorithm].set('app', await take(from, await from.loginAppToken()));
    refreshToken = person.refresh_token;
  }
  everyToken = Object.values(byTheKeyOf).flatMap((tokens) => [...tokens.values()]);
  idToken = (await service.credentials('provider_f', { subject: unique('alice') })).id_token ?? '';
});

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
    for (const taken of everyToken) await expectWorthless(taken.service, await forge(taken));
  });

  test('[RFC 8725 2.7] the token of another deployment', async () => {
    for (const [own, foreign] of [
      [service, byTheKeyOf.rs256],
      [elsewhere, byTheKeyOf.es256],
    ] as const) {
      for (const { token } of foreign.values()) await expectWorthless(own, token);
    }
  });

  test('[CWE-400] a token of 150 kB', async () => {
    const { status, text } = await service.introspect(
      `${encoded({ alg: 'ES256' })}.${'A'.repeat(150_000)}.A`,
    );
    expect([status, text]).toEqual([200, '{"active":false}']);
  });
});

/** A token is for one use, though all are signed by the same key. */
describe('a token of another kind is no access token', () => {
  const device = { platform: 'android', token: unique('phone') };

  test('[RFC 8725 2.8] a Login User Token registers no device', async () => {
    for (const { user, app } of both()) {
      expect((await user.service.register(device, user.token)).status).toBe(401);
      expect((await user.service.register(device, app.token)).status).toBeLessThan(300);
    }
  });

  test('[RFC 8725 2.8] a Login App Token lists nobody’s devices', async () => {
    for (const { app } of both()) expect((await app.service.listDevices(app.token)).status).toBe(401);
  });

  test("[RFC 8725 3.12] a provider's id token", () => expectWorthless(service, idToken));

  test('[RFC 8725 3.12] a refresh token', async () => {
    expect((await elsewhere.listDevices(refreshToken)).status).toBe(401);
    expect((await elsewhere.register(device, refreshToken)).status).toBe(401);
  });

  test('[RFC 8725 3.12] an access token refreshes no session', async () => {
    const { token } = tokenOf(byTheKeyOf.es256, 'user');
    const { body } = await service.refresh(token);
    expect(body.error).toBe('invalid_grant');
  });

  test('[RFC 8725 3.12] an access token is no id token', async () => {
    for (const { user } of both()) {
      expect((await user.service.byIdToken(user.token)).body.error).toBe('invalid_grant');
    }
  });

  test('[RFC 6750 2] two different tokens in the two headers', async () => {
    const { token } = tokenOf(byTheKeyOf.es256, 'user');
    const other = (await service.logIn(unique('bob'))).body.access_token;
    const headers = { authorization: `Bearer ${token}`, authentication: `Bearer ${other}` };
    const path = '/v2/marketing/login/user/push_notifications/devices';
    expect((await service.call(path, { headers })).status).toBe(401);
  });

  test.each(['access_token', 'refresh_token', 'token'])('[RFC 9700 4.3.2] %s in the query', async (name) => {
    const { token } = tokenOf(byTheKeyOf.es256, 'user');
    const path = '/v2/marketing/login/user/push_notifications/devices';
    expect((await service.call(`${path}?${name}=${token}`)).status).toBe(401);
  });
});

function tokenOf(tokens: Map<string, Taken>, use: string): Taken {
  const found = tokens.get(use);
  if (!found) throw new Error(`There is no token of the use ${use}.`);
  return found;
}
const both = () =>
  Object.values(byTheKeyOf).map((tokens) => ({ user: tokenOf(tokens, 'user'), app: tokenOf(tokens, 'app') }));

/** As if a fault in the issuance, or in another service that shares the key, had signed it. */
describe('a token that is signed by our own key, but is not what we issue, is worthless', () => {
  let key: Awaited<ReturnType<typeof importJWK>>;

  beforeAll(async () => {
    key = await importJWK((await stolenSigningKeys(running)).current);
  });

  /** @param payload text, since `SignJWT` would not write what no issuer should */
  const signed = ({ header }: Taken, payload: string, more: object = {}) =>
    new CompactSign(bytes(payload))
      .setProtectedHeader({ ...header, ...more })
      .sign(key, { crit: { x: true } });
  const signedClaims = (taken: Taken, claims: object, header: object = {}) =>
    signed(taken, JSON.stringify({ ...taken.claims, ...claims }), header);

  test.each(['user', 'app'])('control: the %s’s own claims, signed again, count', async (use) => {
    const taken = tokenOf(byTheKeyOf.es256, use);
    expect((await service.introspect(await signedClaims(taken, {}))).body.active).toBe(true);
  });

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
    for (const taken of byTheKeyOf.es256.values()) {
      await expectWorthless(service, await signedClaims(taken, claims));
    }
  });

  test.each<[string, string, (taken: Taken) => Promise<string>]>([
    ['finding', 'no session', (taken) => signedClaims(taken, { sid: undefined, token_use: 'login_user' })],
    [
      'finding',
      'a session that is an object',
      (taken) => signedClaims(taken, { sid: {}, token_use: 'login_user' }),
    ],
    ['finding', 'claims that are a list', (taken) => signed(taken, '[]')],
    ['finding', 'claims that are null', (taken) => signed(taken, 'null')],
    ['finding', 'claims that are no JSON', (taken) => signed(taken, 'x')],
    ['finding', 'an exp beyond all numbers', (taken) => signed(taken, withInfiniteEnd(taken))],
    ['RFC 8725 3.11', 'the type of an id token', (taken) => signedClaims(taken, {}, { typ: 'JWT' })],
    [
      'RFC 8725 3.11',
      'the type of a logout token',
      (taken) => signedClaims(taken, {}, { typ: 'logout+jwt' }),
    ],
    ['RFC 8725 3.11', 'a type that is a list', (taken) => signedClaims(taken, {}, { typ: ['at+jwt'] })],
    [
      'RFC 7515 4.1.11',
      'a critical extension that nobody knows',
      (taken) => signedClaims(taken, {}, { crit: ['x'], x: 1 }),
    ],
  ])('[%s] %s', async (_source, _what, forge) => {
    for (const taken of byTheKeyOf.es256.values()) await expectWorthless(service, await forge(taken));
  });

  const withInfiniteEnd = ({ claims }: Taken): string =>
    JSON.stringify(claims).replace(/"exp":\d+/, '"exp":1e999');

  /** The other Login App could otherwise introspect, or use, what is somebody else's. */
  test('[finding] another Login App’s audience for a session of this one', async () => {
    const { other_login_app } = service.demo;
    const taken = tokenOf(byTheKeyOf.es256, 'user');
    const token = await signedClaims(taken, { aud: other_login_app.login_app_id });
    await expectWorthless(service, token);
    expect((await service.introspect(token, other_login_app)).text).toBe('{"active":false}');
    await expectUnharmed(taken);
  });

  test('[finding] another Login App’s audience and client for a session of this one', async () => {
    const { client_id, login_app_id } = service.demo.other_login_app;
    const taken = tokenOf(byTheKeyOf.es256, 'user');
    const token = await signedClaims(taken, { aud: login_app_id, client_id });
    await expectWorthless(service, token);
    const { text } = await service.introspect(token, service.demo.other_login_app);
    expect(text).toBe('{"active":false}');
    await service.revoke(token, service.demo.other_login_app);
    await expectUnharmed(taken);
  });

  test('[finding] another client of the same Login App for a session of this one', async () => {
    const sibling = await createClient(service, service.demo.login_app.login_app_id);
    const taken = tokenOf(byTheKeyOf.es256, 'user');
    await expectWorthless(service, await signedClaims(taken, { client_id: sibling.client_id }));
    await expectUnharmed(taken);
  });

  test('[finding] a Login App Token for another Login App than its client’s', async () => {
    const { other_login_app } = service.demo;
    const taken = tokenOf(byTheKeyOf.es256, 'app');
    const token = await signedClaims(taken, { aud: other_login_app.login_app_id });
    await expectWorthless(service, token);
    expect((await service.introspect(token, other_login_app)).text).toBe('{"active":false}');
  });

  const expectUnharmed = async ({ token }: Taken): Promise<void> => {
    expect((await service.listDevices(token)).status).toBe(200);
  };
});
