import { beforeAll, describe, expect, test } from '@jest/globals';
import { expectAnswer, expectError } from '../support/expectations.ts';
import { createLoginApp } from '../support/login-app.ts';
import { sharedService, unique } from '../support/service.ts';
import { hexToken } from '../support/tokens.ts';

const service = sharedService();
const { call, demo, json, loginAppToken, operate, register } = service;
const path = '/v2/marketing/push_notifications/devices';

const device = { id: expect.stringMatching(/^d_[\w-]{43}$/) };
const android = () => ({ platform: 'android', token: unique('push-token') });
const ios = () => ({ platform: 'ios', token: hexToken() });

const invalidToken = { status: 401, error: 'invalid_token' };
const badRequest = { status: 400, error: 'invalid_request', naming: /\bdevice\b/ };
const unprocessable = (field: string) => ({
  status: 422,
  error: 'unprocessable_entity',
  naming: new RegExp(field.replace('.', '\\.')),
  fields: [field],
});

let appToken: string;

beforeAll(async () => {
  appToken = await loginAppToken();
});

describe('POST /v2/marketing/push_notifications/devices', () => {
  test.each([
    ['ios', ios],
    ['android', android],
  ])(
    '%s: 201 device created, then 200 device had already been created, with the same id',
    async (_, make) => {
      const body = make();
      const created = await register(body, appToken);
      expectAnswer(created, 201, device);
      expectAnswer(await register(body, appToken), 200, created.body);
      expectAnswer(await register({ ...body }, await loginAppToken()), 200, created.body);
    },
  );

  test.each([
    ['ios', ios],
    ['android', android],
  ])('%s: of twelve at once exactly one is a 201, and all have the same id', async (_, make) => {
    const body = make();
    const answers = await Promise.all(Array.from({ length: 12 }, () => register(body, appToken)));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(11).fill(200), 201]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });

  test('an ios token in another case is the same device', async () => {
    const { token } = ios();
    const created = await register({ platform: 'ios', token: token.toLowerCase() }, appToken);
    expectAnswer(created, 201, device);
    expectAnswer(
      await register({ platform: 'ios', token: token.toUpperCase() }, appToken),
      200,
      created.body,
    );
  });

  test('an android token in another case is another device', async () => {
    const { token } = android();
    const lower = await register({ platform: 'android', token: token.toLowerCase() }, appToken);
    const upper = await register({ platform: 'android', token: token.toUpperCase() }, appToken);
    expectAnswer(lower, 201, device);
    expectAnswer(upper, 201, device);
    expect(upper.body.id).not.toBe(lower.body.id);
  });

  test('the same token on another platform, or for another Login App, is another device', async () => {
    const token = hexToken();
    const answers = [
      await register({ platform: 'ios', token }, appToken),
      await register({ platform: 'android', token }, appToken),
      await register({ platform: 'ios', token }, await loginAppToken(demo.other_login_app)),
    ];
    for (const answer of answers) expectAnswer(answer, 201, device);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(3);
  });

  test('fields that nobody knows are ignored', async () => {
    const { platform, token } = android();
    const created = await register({ platform, token }, appToken);
    const body = { device: { platform, token, id: 'x', constructor: 1, name: null }, more: [1] };
    const answer = await json(path, body, { authorization: `Bearer ${appToken}` });
    expectAnswer(answer, 200, created.body);
  });

  test.each([
    ['ios', 'a'.repeat(64)],
    ['ios', 'b'.repeat(400)],
    ['android', 'c'],
    ['android', 'd'.repeat(4096)],
    ['android', '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'],
    ['android', '__proto__'],
    ['android', 'constructor'],
  ])('%s: the token %.40s is one', async (platform, token) => {
    const answer = await register({ platform, token }, appToken);
    expect([200, 201]).toContain(answer.status);
    expectAnswer(answer, answer.status, device);
  });
});

describe('POST /v2/marketing/push_notifications/devices, 400 device missing or not a hash', () => {
  test.each([
    ['missing', {}],
    ['null', { device: null }],
    ['text', { device: 'ios' }],
    ['empty text', { device: '' }],
    ['a number', { device: 7 }],
    ['true', { device: true }],
    ['an empty list', { device: [] }],
    ['a list', { device: [{ platform: 'ios', token: 'a'.repeat(64) }] }],
    ['a list of pairs', { device: [['platform', 'ios']] }],
    ['under another name', { Device: { platform: 'ios', token: 'a'.repeat(64) } }],
  ])('device is %s', async (_, body) => {
    expectError(await json(path, body, { authorization: `Bearer ${appToken}` }), badRequest);
  });

  test.each(['[]', '[{"device":{}}]', 'null', '"device"', '7', 'true'])('the body is %s', async (body) => {
    expectError(await json(path, body, { authorization: `Bearer ${appToken}` }), badRequest);
  });

  const aboutPrototypes = 'The body has the key __proto__, or constructor with prototype.';
  test.each([
    ['', 'The body is missing.'],
    ...['{', '{"device":}', '{"device":{}}x', 'device[token]=x', "{'device':{}}", '\0'].map((body) => [
      ...[body, 'The body is not valid JSON.'],
    ]),
    ['{"device": {"__proto__": {"platform": "ios"}}}', aboutPrototypes],
    ['[{"constructor":{"prototype":1}}]', aboutPrototypes],
  ])('the body %j is no JSON of ours', async (body, naming = '') => {
    const answer = await json(path, body, { authorization: `Bearer ${appToken}` });
    expectError(answer, { ...badRequest, naming });
  });

  test.each([undefined, 'text/plain', 'application/x-www-form-urlencoded', 'application/jsonx'])(
    'the content type is %s',
    async (contentType) => {
      const answer = await call(path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${appToken}`,
          ...(contentType && { 'content-type': contentType }),
        },
        body: new TextEncoder().encode(JSON.stringify({ device: android() })),
      });
      expectError(answer, { ...badRequest, naming: 'The content type must be application/json.' });
    },
  );

  test.each(['; charset=utf-8', ' ;charset=utf-8', '\t; charset="utf-8"'])(
    'the content type may have the parameters %j (RFC 9110, section 5.6.6)',
    async (parameters) => {
      const headers = {
        authorization: `Bearer ${appToken}`,
        'content-type': `application/json${parameters}`,
      };
      expectAnswer(await json(path, { device: android() }, headers), 201, device);
    },
  );
});

describe('POST /v2/marketing/push_notifications/devices, 422 validation error in device', () => {
  const token = 'a'.repeat(64);

  test.each([
    ['missing', { token }],
    ['unknown', { platform: 'windows', token }],
    ['in another case', { platform: 'iOS', token }],
    ['empty', { platform: '', token }],
    ['null', { platform: null, token }],
    ['a number', { platform: 1, token }],
    ['a list', { platform: ['ios'], token }],
    ['constructor', { platform: 'constructor', token }],
  ])('device.platform is %s', async (_, body) => {
    expectError(await register(body, appToken), unprocessable('device.platform'));
  });

  test('both fields are wrong: each is named', async () => {
    expectError(await register({}, appToken), {
      ...unprocessable('device.platform'),
      fields: ['device.platform', 'device.token'],
    });
  });

  test.each([
    ['ios', 'missing', undefined],
    ['ios', 'null', null],
    ['ios', 'a number', 7],
    ['ios', 'a list', ['a'.repeat(64)]],
    ['ios', 'empty', ''],
    ['ios', 'of 62 digits', 'a'.repeat(62)],
    ['ios', 'of 65 digits', 'a'.repeat(65)],
    ['ios', 'of 402 digits', 'a'.repeat(402)],
    ['ios', 'not hexadecimal', 'g'.repeat(64)],
    ['ios', 'with a line feed', `${'a'.repeat(64)}\n`],
    ['ios', 'in brackets', `<${'a'.repeat(62)}>`],
    ['android', 'missing', undefined],
    ['android', 'null', null],
    ['android', 'an object', {}],
    ['android', 'empty', ''],
    ['android', 'of 4097 characters', 'a'.repeat(4097)],
    ['android', 'with a space', 'a b'],
    ['android', 'with a line feed', 'a\n'],
    ['android', 'with a NUL', 'a\0'],
    ['android', 'not ASCII', 'жетон'],
  ])('%s: device.token is %s', async (platform, _, value) => {
    expectError(await register({ platform, token: value }, appToken), unprocessable('device.token'));
  });

  test('a missing token is called required', async () => {
    const answer = await register({ platform: 'ios' }, appToken);
    expect(answer.body.errors).toEqual([{ field: 'device.token', message: 'device.token is required.' }]);
  });
});

describe('POST /v2/marketing/push_notifications/devices, 404 no mobile application for the Login App', () => {
  test.each(['ios', 'android'])('%s', async (platform) => {
    const token = await loginAppToken(demo.login_app_without_mobile_application);
    const answer = await register({ platform, token: hexToken() }, token);
    expectError(answer, { status: 404, error: 'not_found', naming: new RegExp(platform) });
  });

  test('the mobile application is per platform, and counts from the moment it is set', async () => {
    const app = await createLoginApp(service, unique('one-platform'));
    const token = await loginAppToken(app);
    const flags = { 'login-app': app.login_app_id, platform: 'ios' };
    expectError(await register(ios(), token), { status: 404, error: 'not_found', naming: /ios/ });
    await operate('mobile-applications', 'set', flags);
    expectAnswer(await register(ios(), token), 201, device);
    expectError(await register(android(), token), { status: 404, error: 'not_found', naming: /android/ });
  });
});

describe('POST /v2/marketing/push_notifications/devices, 401 authentication wrong', () => {
  test.each([
    ['no header', {}],
    ['an empty header', { authorization: '' }],
    ['Bearer without a token', { authorization: 'Bearer' }],
    ['another scheme', { authorization: 'Basic abc' }],
    ['two tokens', { authorization: 'Bearer a b' }],
    ['garbage', { authorization: 'Bearer abc' }],
    ['8 kB of garbage', { authorization: `Bearer ${'a'.repeat(8_000)}` }],
    ['the token __proto__', { authorization: 'Bearer __proto__' }],
  ])('%s', async (_, headers) => {
    expectError(await json(path, { device: android() }, headers), invalidToken);
  });

  test('a Login App Token in the Authentication header alone', async () => {
    const answer = await json(path, { device: android() }, { authentication: `Bearer ${appToken}` });
    expectError(answer, invalidToken);
  });
});

describe('POST /v2/marketing/push_notifications/devices, the order of checks', () => {
  test('the caller comes first: 401 before 400, 422 and 404', async () => {
    for (const body of ['{', {}, { device: [] }, { device: {} }, { device: android() }]) {
      expectError(await json(path, body, { authorization: 'Bearer abc' }), invalidToken);
    }
  });

  test('then the request, then the data: 400 and 422 before 404', async () => {
    const token = await loginAppToken(demo.login_app_without_mobile_application);
    const headers = { authorization: `Bearer ${token}` };
    expectError(await json(path, '{', headers), { ...badRequest, naming: /JSON/ });
    expectError(await json(path, { device: [] }, headers), badRequest);
    expectError(
      await json(path, { device: { platform: 'x', token: 'x' } }, headers),
      unprocessable('device.platform'),
    );
    expectError(
      await json(path, { device: { platform: 'ios', token: 'x' } }, headers),
      unprocessable('device.token'),
    );
    expectError(await json(path, { device: ios() }, headers), { status: 404, error: 'not_found' });
  });
});
