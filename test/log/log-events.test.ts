import { generateKeyPairSync } from 'node:crypto';
import { afterEach, describe, expect, test } from '@jest/globals';
import { base64url, decodeJwt, decodeProtectedHeader } from 'jose';
import { providerIds } from '../../lib/providers/provider-ids.ts';
import { expectError } from '../support/expectations.ts';
import { newIssuerLogin, newJwtLogin } from '../support/issuer-login.ts';
import { type LogLine, logLine, logLines, writtenDuring } from '../support/log-lines.ts';
import { createClient, createLoginApp, type LoginApp } from '../support/login-app.ts';
import { newPerson } from '../support/people.ts';
import { type Claims, ourApp, startProviderStandIn } from '../support/provider-stand-in.ts';
import { prepareLogin, type Target, targets } from '../support/provider-targets.ts';
import { type Answer, unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';

const { running, service } = await sharedServiceWithStore();
afterEach(() => running.resetClock());
const standIn = await startProviderStandIn();
const { login_app, account } = service.demo;
const app = await createLoginApp(service, unique('app'), { platforms: ['android'] });
const wrongClient = { ...login_app, client_secret: 'wrong' };
const revoked = await createClient(service, app.login_app_id);
const flags = { 'login-app': login_app.login_app_id, name: 'app' };
const { token_id, login_app_token } = await service.operate('login-apps', 'tokens create', flags);

/** The line of an event that belongs to an answer, without what the logger adds to each. */
async function lineOf(answer: Answer, event: string): Promise<Partial<LogLine>> {
  const request_id = answer.headers.get('x-request-id');
  const {
    timestamp,
    level,
    message,
    service: name,
    lambda_request_id,
    ...fields
  } = await logLine(running, event, { request_id });
  const ofEach = { message, name, lambda_request_id };
  expect({ ...ofEach, timestamp: typeof timestamp }).toEqual({
    timestamp: 'string',
    message: event,
    name: 'login-service',
    lambda_request_id: expect.any(String),
  });
  expect(level).toBe(
    event === 'provider_failed' || event === 'provider_keys_stale' ? 'ERROR' : 'INFO',
  );
  return fields;
}

/** What every line about a login of the demo's client has. */
const ofLogin = (provider: string, grant_type = 'provider_credentials') => ({
  request_id: expect.any(String),
  route: 'POST /v2/marketing/oauth/token',
  login_app_id: login_app.login_app_id,
  client_id: login_app.client_id,
  grant_type,
  provider,
});

/** Logs in with what a provider of the sandbox issues by such a query. */
const logInWith = async (
  provider: string,
  query: Record<string, string> = {},
  over = {},
): Promise<Answer> => service.token({ ...(await service.loginForm(provider, query)), ...over });

describe('request_refused says why a bearer token is invalid', () => {
  const logIn = async () => (await service.logIn(unique('alice'))).body;
  const changed = async (header: object, claims: object = {}): Promise<string> => {
    const { access_token: token } = await logIn();
    const parts = [
      { ...decodeProtectedHeader(token), ...header },
      { ...decodeJwt(token), ...claims },
    ].map((part) => base64url.encode(JSON.stringify(part)));
    return [...parts, token.split('.')[2]].join('.');
  };
  const recipientsToken = async (): Promise<string> =>
    (await service.token({ grant_type: 'client_credentials', scope: 'recipients' })).body
      .access_token;
  const kid = 'x';
  test.each<[reason: string, token: () => Promise<string>]>([
    ['refresh_token_sent', async () => (await logIn()).refresh_token],
    ['login_app_token_sent', () => service.loginAppToken()],
    ['not_an_access_token', async () => 'token'],
    ['signature_invalid', () => changed({}, { a: 1 })],
    ['unknown_key', () => changed({ kid })],
    ['issued_by_another_issuer', () => changed({ kid }, { iss: 'https://other.example' })],
    // No JSON says who issued it.
    [
      'issued_by_another_issuer',
      async () => (await changed({ kid })).replace(/\.[^.]*\./, '.bm8.'),
    ],
    [
      'session_ended',
      async () => {
        const { access_token, refresh_token } = await logIn();
        await service.revoke(refresh_token);
        return access_token;
      },
    ],
    [
      'token_expired',
      async () => {
        const { access_token } = await logIn();
        running.advance(3_601);
        return access_token;
      },
    ],
  ])('of a person: %s', async (reason, token) => {
    const answer = await service.listDevices(await token());
    expect(answer.status).toBe(401);
    expect(await lineOf(answer, 'request_refused')).toMatchObject({
      error: 'invalid_token',
      reason,
    });
  });

  test.each<[reason: string, token: () => Promise<string>]>([
    ['login_user_token_sent', async () => (await logIn()).access_token],
    ['login_app_token_sent', () => service.loginAppToken()],
    ['login_app_token_sent', async () => login_app_token],
    ['refresh_token_sent', async () => (await logIn()).refresh_token],
    ['signature_invalid', () => changed({}, { a: 1 })],
    ['credentials_malformed', async () => 'a b'],
    [
      'token_expired',
      async () => {
        const token = await recipientsToken();
        running.advance(3_601);
        return token;
      },
    ],
  ])('of a sender: %s', async (reason, token) => {
    const path = '/v2/marketing/push_notifications/recipients?shard=0';
    const headers = { authorization: `Bearer ${await token()}` };
    const answer = await service.call(path, { headers });
    expectError(answer, { status: 401, error: 'invalid_token' });
    expect(await lineOf(answer, 'request_refused')).toMatchObject({
      error: 'invalid_token',
      reason,
    });
  });

  test('a token of a sender is recipients_token_sent elsewhere', async () => {
    const token = await recipientsToken();
    for (const answer of [await service.listDevices(token), await service.register({}, token)]) {
      expect(answer.status).toBe(401);
      expect(await lineOf(answer, 'request_refused')).toMatchObject({
        reason: 'recipients_token_sent',
      });
    }
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
    ['no_usable_subject', 'provider_f', claims('{"sub":"undefined"}'), {}],
    ['issued_by_another_issuer', 'provider_f', claims('{"iss":"https://accounts.example"}'), {}],
    ['id_token_not_yet_valid', 'provider_f', claims(`{"nbf":${inAnHour}}`), {}],
    ['claim_invalid', 'provider_f', claims('{"iat":null}'), {}],
    [
      'other_access_token',
      'provider_f',
      { with_access_token: 'true' },
      { access_token: 'another' },
    ],
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
    const forged = Buffer.from(
      JSON.stringify({ ...decodeProtectedHeader(id_token), ...header, x: 1 }),
    );
    const answer = await logInWith(
      'provider_f',
      {},
      { id_token: [forged.toString('base64url'), ...rest].join('.') },
    );
    expect(await lineOf(answer, 'token_refused')).toMatchObject({ error: 'invalid_grant', reason });
  });

  const inThePast = Math.floor(Date.now() / 1000) - 600;
  test.each<[string, Claims, object]>([
    ['token_expired', { exp: inThePast }, {}],
    ['issued_by_another_issuer', { iss: 'https://accounts.example' }, {}],
    ['unknown_key', {}, { kid: 'another' }],
  ])('%s, of an access token that is a JWT', async (reason, claims, header) => {
    const { logIn } = await newJwtLogin(service, standIn);
    const answer = await logIn(claims, { typ: 'at+jwt', ...header });
    expect(await lineOf(answer, 'token_refused')).toMatchObject({ error: 'invalid_grant', reason });
  });

  const { client_secret: _, ...ofApp } = app;
  const grant_type = 'provider_credentials';
  const byCode = 'provider_authorization_code';
  const made = { grant_type, provider: 'provider_a', access_token: 'token' };
  const secretWrong = { error: 'invalid_client', reason: 'secret_wrong' };
  test.each<[string, Record<string, string>, LoginApp, object]>([
    ['a request that lacks a parameter', { grant_type, provider: 'provider_c' }, login_app, {}],
    [
      'a made-up code',
      { grant_type: byCode, provider: 'provider_b', authorization_code: 'made-up' },
      login_app,
      { error: 'invalid_grant', reason: 'code_refused' },
    ],
    ['a provider that is not set up, by a client that is', made, app, ofApp],
    [
      'a client whose secret is wrong is named, so that guessing can be seen',
      made,
      wrongClient,
      { ...secretWrong, login_app_id: undefined, grant_type: undefined, provider: undefined },
    ],
  ])('%s', async (_, form, client, fields) => {
    const line = await lineOf(await service.token(form, client), 'token_refused');
    const common = ofLogin(form.provider ?? '', form.grant_type);
    expect(line).toEqual({
      event: 'token_refused',
      ...common,
      error: 'invalid_request',
      ...fields,
    });
  });

  test('what is sent in the place of an id is not written down when it is none', async () => {
    const answer = await service.token({}, { ...login_app, client_id: 'a-secret-by-mistake' });
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

describe('the names of what is not kept, never what it says', () => {
  const profile = {
    name: `Alice ${'A'.repeat(300)}`,
    picture: 'javascript:alert(1)',
    locale: 'de',
    email: '',
  };
  const login = { acr: 7, amr: Array.from({ length: 21 }, (_, index) => `method-${index}`) };

  test.each([
    ['profile_fields_left_out', 'provider_a', profile, 'name, picture'],
    ['profile_fields_left_out', 'provider_f', profile, 'name, picture'],
    ['login_claims_left_out', 'provider_f', login, 'acr, amr'],
  ])('%s, %s', async (event, provider, claims, fields) => {
    const answer = await logInWith(provider, { claims: JSON.stringify(claims) });
    expect(answer.status).toBe(200);
    expect(await lineOf(answer, event)).toEqual({ event, ...ofLogin(provider), fields });
  });
});

describe('a detail of a device', () => {
  const registeredWith = async (details: Record<string, unknown>) => {
    const device = { platform: 'android', token: unique('phone'), ...details };
    const answer = await service.register(device, await service.loginAppToken(login_app));
    return lineOf(answer, 'device_registered');
  };

  test('that cannot be used is named in the lines of its request', async () => {
    const line = await registeredWith({ locale: 'English', app_version: '' });
    expect(line).toMatchObject({ left_out: 'device.locale' });
  });

  test.each([null, '', ' '])('that says nothing is not: %j', async (nothing) => {
    const line = await registeredWith({ locale: nothing, app_version: nothing });
    expect(line).not.toHaveProperty('left_out');
  });
});

describe('request_refused: a rejected caller, by the id that they claim', () => {
  const device = { platform: 'android', token: unique('phone') };
  const { login_app_id, client_id } = login_app;
  const { account_id } = account;
  const wrong = String(login_app_token).replace(/las_.*/, `las_${'A'.repeat(43)}`);
  const malformed = `${login_app_id}.t_made-up.las_made-up`;
  const wrongAccount = { ...account, account_secret: 'wrong' };

  test.each<[string, () => Promise<Answer>, string, object]>([
    [
      'an account',
      () => service.search('', { account: wrongAccount }),
      'secret_wrong',
      { account_id },
    ],
    ['a client', () => service.introspect('x', wrongClient), 'secret_wrong', { client_id }],
    ['a long-lived token', () => service.register(device, wrong), 'secret_wrong', { token_id }],
    [
      'one of another form is not named',
      () => service.register(device, malformed),
      'not_an_access_token',
      {},
    ],
    [
      'the token of a client that was revoked',
      async () => {
        const token = await service.loginAppToken(revoked);
        const client = { 'login-app': app.login_app_id, client: revoked.client_id };
        await service.operate('clients', 'revoke', client);
        running.advance(30);
        return service.register(device, token);
      },
      'id_unknown',
      { client_id: revoked.client_id },
    ],
  ])('%s', async (_, send, reason, claimed) => {
    const answer = await send();
    expect(answer.status).toBe(401);
    const { event, request_id, route, error, ...fields } = await lineOf(answer, 'request_refused');
    expect(fields).toEqual({ ...claimed, reason });
  });
});

/**
 * A login at a provider of the stand-in, whose endpoint may answer wrongly, by a Login App of its
 * own.
 */
async function logInWhen(target: Target, wrong?: { status: number; body: string }) {
  const scene = standIn.openScene();
  const login = await prepareLogin(service, scene, target);
  if (wrong) scene.answer(target.endpoint, wrong);
  const { login_app_id, client_id } = login.app;
  const { provider, grant_type } = login.form;
  const fields = { ...ofLogin(provider, grant_type), login_app_id, client_id };
  return { scene, login, fields, answer: await service.token(login.form, login.app) };
}

const yesterday = Math.floor(Date.now() / 1000) - 86_400;

test.each<[string, Target, number, object]>([
  ['user_info_refused', targets.userInfo, 401, {}],
  [
    'token_expired',
    targets.introspection,
    200,
    { active: true, client_id: ourApp, sub: 'alice', exp: yesterday },
  ],
  // Audience validation and user info name different people.
  ['subject_mismatch', targets.userInfo, 200, { sub: 'bob' }],
])('%s, $name', async (reason, target, status, answered) => {
  const { answer } = await logInWhen(target, { status, body: JSON.stringify(answered) });
  expect(await lineOf(answer, 'token_refused')).toMatchObject({ error: 'invalid_grant', reason });
});

test('a refresh token that is not accepted: the reason', async () => {
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
    [
      'unexpected_answer',
      targets.userInfoAfterExchange,
      200,
      '{"sub":7}',
      'user_info (no usable sub)',
    ],
    ...[null, '', 'null', 'Undefined', '[object Object]'].map(
      (sub): [string, Target, number, string, string] => [
        'unexpected_answer',
        targets.userInfoAfterExchange,
        200,
        JSON.stringify({ sub }),
        'user_info (no usable sub)',
      ],
    ),
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
  const rsaKey = (modulusLength: number) =>
    generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'jwk' });
  const logInAt = async (endpoint: string, told: (url: string) => object, header = {}) => {
    const { scene, app } = await newIssuerLogin(service, standIn);
    scene.answer(endpoint, { status: 200, body: told(scene.url) });
    const [, ...rest] = (await scene.idToken()).split('.');
    const start = Buffer.from(JSON.stringify({ alg: 'ES256', kid: 'key-7', ...header })).toString(
      'base64url',
    );
    const id_token = [start, ...rest].join('.');
    const form = { grant_type: 'provider_credentials', provider: 'provider_f', id_token };
    return {
      url: scene.url,
      line: await lineOf(await service.token(form, app), 'provider_failed'),
    };
  };

  test.each<[string, string, object]>([
    ['too short', 'RS256', rsaKey(1024)],
    ['enormous', 'RS256', { ...rsaKey(2048), n: `w${'A'.repeat(2_800)}E` }],
    ['even', 'RS256', { ...rsaKey(2048), n: `w${'A'.repeat(341)}` }],
    ['no secret, as its exponent is 1', 'RS256', { ...rsaKey(2048), e: 'AQ' }],
    ['malformed', 'ES256', { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' }],
  ])('one that is %s is named', async (_, alg, key) => {
    const { url, line } = await logInAt('jwks', () => ({ keys: [{ ...key, kid: 'key-7' }] }), {
      alg,
    });
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

test('what people change of their account: a line names them, the thing and who did it', async () => {
  const { account, loginUserId: login_user_id, sessionId: session_id } = await newPerson(service);
  const linked = await account.linkAt('provider_a', unique('linked'));
  const identity = { login_user_id, identity_id: linked.body.id };
  const unlinked = await account.unlink(linked.body.id);
  const elsewhere = await newPerson(service);
  const session = { login_user_id, session_id, by: 'person' };
  expect(await lineOf(linked, 'identity_linked')).toMatchObject({
    ...identity,
    provider: 'provider_a',
  });
  expect(await lineOf(unlinked, 'identity_unlinked')).toMatchObject(identity);
  expect(await lineOf(await account.endSession(session_id), 'session_ended')).toMatchObject(
    session,
  );
  const user = { login_user_id: elsewhere.loginUserId, by: 'person' };
  const others = await elsewhere.account.endSessions('?except=current');
  expect(await lineOf(others, 'sessions_ended')).toMatchObject(user);
  expect(await lineOf(await elsewhere.account.remove(), 'login_user_deleted')).toMatchObject(user);
});

test('a login that leaves nothing out is told by one line, token_issued', async () => {
  const answer = await logInWith('provider_f', { subject: unique('alice') });
  const request_id = answer.headers.get('x-request-id');
  await logLine(running, 'token_issued', { request_id });
  const lines = logLines(running).filter((line) => line.request_id === request_id);
  expect(lines.map(({ event }) => event)).toEqual(['token_issued']);
});
