import { generateKeyPairSync } from 'node:crypto';
import { afterEach, describe, expect, test } from '@jest/globals';
import { base64url, decodeJwt, decodeProtectedHeader } from 'jose';
import { providerIds } from '../../lib/providers/provider-ids.ts';
import { newIssuerLogin } from '../support/issuer-login.ts';
import { type LogLine, logLine, writtenDuring } from '../support/log-lines.ts';
import { createClient, createLoginApp, type LoginApp } from '../support/login-app.ts';
import { eventually } from '../support/people.ts';
import { ourApp, startProviderStandIn } from '../support/provider-stand-in.ts';
import { prepareLogin, type Target, targets } from '../support/provider-targets.ts';
import { type Answer, unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';

const { running, service } = await sharedServiceWithStore();
afterEach(() => running.resetClock());
const standIn = await startProviderStandIn();

/** The line of an event that belongs to an answer, without what the logger adds to each. */
async function lineOf(answer: Answer, event: string): Promise<Partial<LogLine>> {
  const request_id = answer.headers.get('x-request-id');
  const {
    timestamp,
    level,
    message,
    service: name,
    ...fields
  } = await logLine(running, event, { request_id });
  expect({ timestamp: typeof timestamp, message, name }).toEqual({
    timestamp: 'string',
    message: event,
    name: 'login-service',
  });
  expect(level).toBe(event === 'provider_failed' || event === 'provider_keys_stale' ? 'ERROR' : 'INFO');
  return fields;
}

/** What every line about a login of the demo's client has. */
const ofLogin = (provider: string, grant_type = 'provider_credentials') => ({
  request_id: expect.any(String),
  route: 'POST /v2/marketing/oauth/token',
  login_app_id: service.demo.login_app.login_app_id,
  client_id: service.demo.login_app.client_id,
  grant_type,
  provider,
});

/** Logs in with what a provider of the sandbox issues by such a query. */
const logInWith = async (provider: string, query: Record<string, string> = {}, over = {}): Promise<Answer> =>
  service.token({ ...(await service.loginForm(provider, query)), ...over });

describe('request_refused says why a bearer token is invalid', () => {
  const changed = (token: string, header: object, claims: object = {}): string =>
    [
      { ...decodeProtectedHeader(token), ...header },
      { ...decodeJwt(token), ...claims },
    ]
      .map((part) => base64url.encode(JSON.stringify(part)))
      .concat(token.split('.')[2] ?? '')
      .join('.');
  const kid = 'x';
  const logIn = async () => (await service.logIn(unique('alice'))).body;
  const cases: [string, string, () => Promise<string>][] = [
    ['a refresh token', 'refresh_token_sent', async () => (await logIn()).refresh_token],
    ['a Login App Token', 'login_app_token_sent', () => service.loginAppToken()],
    ['no token of ours', 'not_an_access_token', async () => 'token'],
    ['a changed token', 'signature_invalid', async () => changed((await logIn()).access_token, {}, { a: 1 })],
    ['an unknown key', 'unknown_key', async () => changed((await logIn()).access_token, { kid })],
    [
      'another issuer',
      'issued_by_another_issuer',
      async () => changed((await logIn()).access_token, { kid }, { iss: 'https://other.example' }),
    ],
    [
      'a payload that is no JSON',
      'issued_by_another_issuer',
      async () => changed((await logIn()).access_token, { kid }).replace(/\.[^.]*\./, '.bm8.'),
    ],
    [
      'an ended session',
      'session_ended',
      async () => {
        const { access_token, refresh_token } = await logIn();
        await service.revoke(refresh_token);
        return access_token;
      },
    ],
    [
      'an expired token',
      'token_expired',
      async () => {
        const { access_token } = await logIn();
        running.advance(3_601);
        return access_token;
      },
    ],
  ];
  test.each(cases)('of a person: %s is %s', async (_, reason, token) => {
    const answer = await service.listDevices(await token());
    expect(answer.status).toBe(401);
    expect(await lineOf(answer, 'request_refused')).toMatchObject({ error: 'invalid_token', reason });
  });

  test('of the Login App: the token of a person is login_user_token_sent, in the terminal too', async () => {
    const { access_token } = await logIn();
    const written = await writtenDuring(running, () => service.register({}, access_token));
    expect(written).toMatch(/"error":"invalid_token","reason":"login_user_token_sent"/);
    expect(written).toMatch(/ 401 \d+ ms invalid_token: login_user_token_sent$/m);
  });
});

describe('token_issued', () => {
  test.each(providerIds)('%s: says who logged in, where and for whom', async (provider) => {
    const answer = await logInWith(provider);
    expect(await lineOf(answer, 'token_issued')).toEqual({
      event: 'token_issued',
      ...ofLogin(provider),
      login_user_id: expect.stringMatching(/^lu_/),
      session_id: expect.stringMatching(/^s_/),
    });
  });
});

describe('token_refused', () => {
  const other = { audience: 'another-app' };
  const expired = { expired: 'true' };
  const inAnHour = String(Math.floor(Date.now() / 1000) + 3600);
  const claims = (text: string) => ({ claims: text });

  test.each<[string, string, Record<string, string>, object]>([
    ['issued_to_another_app', 'provider_a', other, {}],
    ['issued_to_another_app', 'provider_d', other, {}],
    ['issued_to_another_app', 'provider_e', other, {}],
    ['token_inactive', 'provider_a', expired, {}],
    ['token_info_refused', 'provider_d', expired, {}],
    ['token_invalid', 'provider_e', expired, {}],
    ['verification_refused', 'provider_c', other, {}],
    ['verification_refused', 'provider_c', {}, { access_secret: 'another' }],
    ['id_token_expired', 'provider_f', expired, {}],
    ['issued_to_another_app', 'provider_f', other, {}],
    ['issued_to_another_app', 'provider_f', claims('{"azp":"another-app"}'), {}],
    ['issued_in_the_future', 'provider_f', claims(`{"iat":${inAnHour}}`), {}],
    ['no_usable_subject', 'provider_f', claims('{"sub":""}'), {}],
    ['no_usable_subject', 'provider_f', claims('{"sub":null}'), {}],
    ['issued_by_another_issuer', 'provider_f', claims('{"iss":"https://accounts.example"}'), {}],
    ['id_token_not_yet_valid', 'provider_f', claims(`{"nbf":${inAnHour}}`), {}],
    ['claim_invalid', 'provider_f', claims('{"iat":null}'), {}],
    ['other_access_token', 'provider_f', { with_access_token: 'true' }, { access_token: 'another' }],
    ['nonce_mismatch', 'provider_f', { nonce: 'ours' }, { nonce: 'another' }],
    ['not_an_id_token', 'provider_f', {}, { id_token: 'no-token' }],
    ['credential_malformed', 'provider_a', {}, { access_token: 'two words' }],
    ['credential_too_long', 'provider_a', {}, { access_token: 'x'.repeat(16_385) }],
  ])('%s, %s', async (reason, provider, query, over) => {
    const answer = await logInWith(provider, query, over);
    expect(await lineOf(answer, 'token_refused')).toEqual({
      event: 'token_refused',
      ...ofLogin(provider),
      error: 'invalid_grant',
      reason,
    });
  });

  test.each<[string, object]>([
    ['signature_invalid', {}],
    ['unknown_key', { kid: 'another' }],
    ['algorithm_not_allowed', { alg: 'none' }],
    ['algorithm_not_allowed', { alg: 'HS256' }],
    ['not_an_id_token', { crit: ['exp'] }],
  ])('%s, provider_f, whose header was changed by %j', async (reason, header) => {
    const { id_token = '' } = await service.credentials('provider_f', { subject: unique('alice') });
    const [, ...rest] = id_token.split('.');
    const forged = Buffer.from(JSON.stringify({ ...decodeProtectedHeader(id_token), ...header, x: 1 }));
    const answer = await logInWith(
      'provider_f',
      {},
      { id_token: [forged.toString('base64url'), ...rest].join('.') },
    );
    expect(await lineOf(answer, 'token_refused')).toMatchObject({ error: 'invalid_grant', reason });
  });

  test('a request that lacks a parameter, by its grant and provider', async () => {
    const answer = await service.token({ grant_type: 'provider_credentials', provider: 'provider_c' });
    expect(await lineOf(answer, 'token_refused')).toEqual({
      event: 'token_refused',
      ...ofLogin('provider_c'),
      error: 'invalid_request',
    });
  });

  test('code_refused, provider_b', async () => {
    const form = { provider: 'provider_b', authorization_code: 'made-up' };
    const grant_type = 'provider_authorization_code';
    const answer = await service.token({ grant_type, ...form });
    expect(await lineOf(answer, 'token_refused')).toEqual({
      event: 'token_refused',
      ...ofLogin('provider_b', grant_type),
      error: 'invalid_grant',
      reason: 'code_refused',
    });
  });

  test('a provider that is not set up, by a client that is', async () => {
    const app: LoginApp = await createLoginApp(service, unique('app'));
    const form = { grant_type: 'provider_credentials', provider: 'provider_a', access_token: 'token' };
    const answer = await service.token(form, app);
    expect(await lineOf(answer, 'token_refused')).toEqual({
      event: 'token_refused',
      ...ofLogin('provider_a'),
      login_app_id: app.login_app_id,
      client_id: app.client_id,
      error: 'invalid_request',
    });
  });

  test('a client whose secret is wrong is named, so that guessing can be seen', async () => {
    const { client_id } = service.demo.login_app;
    const form = { grant_type: 'provider_credentials', provider: 'provider_a', access_token: 'token' };
    const answer = await service.token(form, { ...service.demo.login_app, client_secret: 'wrong' });
    expect(await lineOf(answer, 'token_refused')).toEqual({
      event: 'token_refused',
      request_id: expect.any(String),
      route: 'POST /v2/marketing/oauth/token',
      client_id,
      error: 'invalid_client',
      reason: 'secret_wrong',
    });
  });

  test('what is sent in the place of an id is not written down when it is none', async () => {
    const answer = await service.token({}, { ...service.demo.login_app, client_id: 'a-secret-by-mistake' });
    const line = await lineOf(answer, 'token_refused');
    expect(line).toMatchObject({ reason: 'id_unknown' });
    expect(JSON.stringify(line)).not.toContain('a-secret-by-mistake');
  });

  test('a blocked person is named', async () => {
    const subject = unique('mallory');
    const login = await lineOf(await logInWith('provider_a', { subject }), 'token_issued');
    await service.operate('login-users', 'block', { 'login-user': login.login_user_id });
    const answer = await logInWith('provider_a', { subject });
    expect(await lineOf(answer, 'token_refused')).toMatchObject({ reason: 'login_user_blocked' });
    expect(await lineOf(answer, 'login_user_refused')).toEqual({
      event: 'login_user_refused',
      ...ofLogin('provider_a'),
      login_user_id: login.login_user_id,
    });
  });
});

test('profile_fields_left_out: the names of claims that are not kept, never what they say', async () => {
  const claims = {
    name: `Alice ${'A'.repeat(300)}`,
    picture: 'javascript:alert(1)',
    locale: 'de',
    email: '',
  };
  for (const provider of ['provider_a', 'provider_f']) {
    const answer = await logInWith(provider, { claims: JSON.stringify(claims) });
    expect(answer.status).toBe(200);
    expect(await lineOf(answer, 'profile_fields_left_out')).toEqual({
      event: 'profile_fields_left_out',
      ...ofLogin(provider),
      fields: 'name, picture',
    });
  }
});

test('login_claims_left_out: the names of claims that no token has, never what they say', async () => {
  const claims = { acr: 7, amr: Array.from({ length: 21 }, (_, index) => `method-${index}`) };
  const answer = await logInWith('provider_f', { claims: JSON.stringify(claims) });
  expect(await lineOf(answer, 'login_claims_left_out')).toEqual({
    event: 'login_claims_left_out',
    ...ofLogin('provider_f'),
    fields: 'acr, amr',
  });
});

describe('request_refused: a rejected caller, by the id that they claim', () => {
  const device = { platform: 'android', token: unique('phone') };
  const { login_app, account } = service.demo;

  /** The line of a 401, without what it has in common with others. */
  async function claimedIn(answer: Answer, reason: string): Promise<Partial<LogLine>> {
    expect(answer.status).toBe(401);
    const line = await lineOf(answer, 'request_refused');
    const { event, request_id, route, error, ...claimed } = line;
    expect(claimed).toMatchObject({ reason });
    return claimed;
  }

  test('an account, with a wrong secret', async () => {
    const answer = await service.search('', { account: { ...account, account_secret: 'wrong' } });
    const { account_id } = account;
    expect(await claimedIn(answer, 'secret_wrong')).toEqual({ account_id, reason: 'secret_wrong' });
  });

  test('a client, with a wrong secret', async () => {
    const answer = await service.introspect('made-up', { ...login_app, client_secret: 'wrong' });
    const { client_id } = login_app;
    expect(await claimedIn(answer, 'secret_wrong')).toEqual({ client_id, reason: 'secret_wrong' });
  });

  test('a long-lived Login App Token, with a wrong secret', async () => {
    const flags = { 'login-app': login_app.login_app_id, name: 'app' };
    const { token_id, login_app_token } = await service.operate('login-apps', 'tokens create', flags);
    const wrong = String(login_app_token).replace(/las_.*/, `las_${'A'.repeat(43)}`);
    const answer = await service.register(device, wrong);
    expect(await claimedIn(answer, 'secret_wrong')).toEqual({ token_id, reason: 'secret_wrong' });
  });

  test('a long-lived Login App Token of another form is not named', async () => {
    const answer = await service.register(device, `${login_app.login_app_id}.t_made-up.las_made-up`);
    expect(answer.status).toBe(401);
    expect(await lineOf(answer, 'request_refused')).not.toHaveProperty('token_id');
  });

  test('the Login App Token of a client that was revoked', async () => {
    const app = await createLoginApp(service, unique('app'), { platforms: ['android'] });
    const token = await service.loginAppToken(app);
    const { client_id } = app;
    await service.operate('clients', 'revoke', { 'login-app': app.login_app_id, client: client_id });
    running.advance(30);
    const answer = await service.register(device, token);
    expect(await claimedIn(answer, 'id_unknown')).toEqual({ client_id, reason: 'id_unknown' });
  });
});

/** A login at a provider of the stand-in, whose endpoint may answer wrongly, by a Login App of its own. */
async function logInWhen(target: Target, wrong?: { status: number; body: string }) {
  const scene = standIn.openScene();
  const login = await prepareLogin(service, scene, target);
  if (wrong) scene.answer(target.endpoint, wrong);
  const { login_app_id, client_id } = login.app;
  const { provider, grant_type } = login.form;
  const fields = { ...ofLogin(provider, grant_type), login_app_id, client_id };
  return { scene, login, fields, answer: await service.token(login.form, login.app) };
}

test.each<[string, Target, number, object]>([
  ['user_info_refused', targets.userInfo, 401, {}],
  ['token_expired', targets.introspection, 200, { active: true, client_id: ourApp, sub: 'alice', exp: 1 }],
])('%s, $name', async (reason, target, status, answered) => {
  const { answer } = await logInWhen(target, { status, body: JSON.stringify(answered) });
  expect(await lineOf(answer, 'token_refused')).toMatchObject({ error: 'invalid_grant', reason });
});

test('a refresh token that is not accepted: the reason', async () => {
  const { login_app } = service.demo;
  const other = await createClient(service, login_app.login_app_id);
  const { refresh_token } = (await service.logIn(unique('alice'))).body;
  const reasonOf = async (refresh_token: string, client = login_app) => {
    const answer = await service.refresh(refresh_token, client);
    return (await lineOf(answer, 'token_refused')).reason;
  };
  expect(await reasonOf('made-up')).toBe('refresh_token_malformed');
  expect(await reasonOf(refresh_token, other)).toBe('issued_to_another_client');
  running.advance(31 * 86_400);
  expect(await reasonOf(refresh_token)).toBe('session_ended');
});

describe('provider_failed: what the provider did, and where', () => {
  test.each<[string, Target, number, string, string]>([
    ['unexpected_status', targets.userInfo, 503, '', 'user_info (503)'],
    ['redirected', targets.verification, 302, '', 'verify'],
    ['answer_not_json', targets.tokenInfo, 200, '<html>', 'token_info'],
    ['answer_too_large', targets.debugToken, 200, ' '.repeat(70_000), 'debug_token'],
    ['unexpected_answer', targets.userInfoAfterExchange, 200, '{"sub":7}', 'user_info (no usable sub)'],
    ['refused_our_credentials', targets.introspection, 401, '', 'introspection (401)'],
  ])('%s, $name', async (code, target, status, body, place) => {
    const { scene, fields, answer } = await logInWhen(target, { status, body });
    expect(await lineOf(answer, 'provider_failed')).toEqual({
      event: 'provider_failed',
      ...fields,
      failure: {
        name: 'ProviderFailure',
        code,
        message: `${code}: ${scene.url}/${place}`,
        at: expect.any(Array),
      },
    });
  });
});

describe('provider_failed: keys of an issuer', () => {
  const shortKey = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' });
  const logInAt = async (endpoint: string, told: (url: string) => object, header = {}) => {
    const { scene, app } = await newIssuerLogin(service, standIn);
    scene.answer(endpoint, { status: 200, body: told(scene.url) });
    const [, ...rest] = (await scene.idToken()).split('.');
    const start = Buffer.from(JSON.stringify({ alg: 'ES256', kid: 'key-7', ...header })).toString(
      'base64url',
    );
    const id_token = [start, ...rest].join('.');
    const form = { grant_type: 'provider_credentials', provider: 'provider_f', id_token };
    return { url: scene.url, line: await lineOf(await service.token(form, app), 'provider_failed') };
  };

  test.each<[string, string, object]>([
    ['too short', 'RS256', shortKey],
    ['malformed', 'ES256', { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' }],
  ])('one that is %s is named', async (_, alg, key) => {
    const { url, line } = await logInAt('jwks', () => ({ keys: [{ ...key, kid: 'key-7' }] }), { alg });
    const message = `unexpected_answer: ${url} (unusable key key-7)`;
    expect(line.failure).toMatchObject({ name: 'ProviderFailure', message });
  });

  test('a long address of them is cut', async () => {
    const told = (url: string) => ({ issuer: url, jwks_uri: `${url}/${'k'.repeat(60_000)}` });
    const { url, line } = await logInAt('.well-known/openid-configuration', told);
    expect(line.failure).toMatchObject({ message: expect.stringContaining(`${url}/kkk`) });
    expect(JSON.stringify(line).length).toBeLessThan(4_000);
  });
});

test('subject_mismatch: audience validation and user info name different people', async () => {
  const { fields, answer } = await logInWhen(targets.userInfo, { status: 200, body: '{"sub":"bob"}' });
  expect(await lineOf(answer, 'token_refused')).toEqual({
    event: 'token_refused',
    ...fields,
    error: 'invalid_grant',
    reason: 'subject_mismatch',
  });
});

describe('the keys of an issuer', () => {
  test('provider_keys_fetched and, in an outage, provider_keys_stale', async () => {
    const { scene, login, fields, answer } = await logInWhen(targets.keys);
    const issuer = scene.url;
    expect(await lineOf(answer, 'provider_keys_fetched')).toEqual({
      event: 'provider_keys_fetched',
      ...fields,
      issuer,
    });
    scene.answer('jwks', { status: 503 });
    running.advance(7200);
    const second = await service.token(login.form, login.app);
    const stale = await lineOf(second, 'provider_keys_stale');
    expect(stale).toMatchObject({
      ...fields,
      issuer,
      failure: { name: 'ProviderFailure', code: 'unexpected_status' },
    });
    expect(Number(stale.age_seconds)).toBeGreaterThanOrEqual(7200);
    expect(second.status).toBe(200);
  });
});

test('the line of a rejected request in the terminal of npm start names its error and the reason', async () => {
  const { status } = await logInWith('provider_a', { audience: 'another-app' });
  expect(status).toBe(400);
  const line = /^POST \/v2\/marketing\/oauth\/token 400 \d+ ms invalid_grant: issued_to_another_app$/m;
  await eventually(
    async () => running.output(),
    (output) => line.test(output),
  );
  expect(running.output()).toMatch(line);
});
