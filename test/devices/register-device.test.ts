import { describe, expect, test } from '@jest/globals';
import { expectAnswer, expectError } from '../support/expectations.ts';
import { createLoginApp } from '../support/login-app.ts';
import { sharedService, unique } from '../support/service.ts';
import { hexToken } from '../support/tokens.ts';

const service = sharedService();
const { demo, json, loginAppToken, operate, register } = service;
const path = '/v2/marketing/push_notifications/devices';

const device = { id: expect.stringMatching(/^d_[\w-]{43}$/) };
const android = (details: object = {}) => ({
  platform: 'android',
  token: unique('push-token'),
  ...details,
});
const ios = (details: object = {}) => ({ platform: 'ios', token: hexToken(), ...details });

const badRequest = { status: 400, error: 'invalid_request', naming: /\bdevice\b/ };
const notFound = (platform: string) => ({
  status: 404,
  error: 'not_found',
  naming: new RegExp(platform),
});

const appToken = await loginAppToken();

const send = (body: unknown) => json(path, body, { authorization: `Bearer ${appToken}` });

describe('POST /v2/marketing/push_notifications/devices', () => {
  describe.each(Object.entries({ ios, android }))('%s', (_, make) => {
    test('201 device created, then 200 device had already been created, the same id', async () => {
      const body = make();
      const created = await register(body, appToken);
      expectAnswer(created, 201, device);
      expectAnswer(await register(body, appToken), 200, created.body);
      expectAnswer(await register(body, await loginAppToken()), 200, created.body);
    });

    test('of twelve at once exactly one is a 201, and all have the same id', async () => {
      const body = make();
      const answers = await Promise.all(Array.from({ length: 12 }, () => register(body, appToken)));
      expect(answers.map(({ status }) => status).sort()).toEqual([...Array(11).fill(200), 201]);
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    });
  });

  test('a token in another case is the same device for ios, and another one for android', async () => {
    const statuses = [];
    for (const { platform, token } of [ios(), android()]) {
      const lower = await register({ platform, token: token.toLowerCase() }, appToken);
      const upper = await register({ platform, token: token.toUpperCase() }, appToken);
      statuses.push([lower.status, upper.status, upper.body.id === lower.body.id]);
    }
    expect(statuses).toEqual([
      [201, 200, true],
      [201, 201, false],
    ]);
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
    expectAnswer(await send(body), 200, created.body);
  });

  test.each([
    { platform: 'ios', token: 'a'.repeat(64) },
    { platform: 'ios', token: 'b'.repeat(400) },
    { platform: 'android', token: 'c' },
    { platform: 'android', token: 'd'.repeat(4096) },
    { platform: 'android', token: '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~' },
    { platform: 'android', token: '__proto__' },
    { platform: 'ios', token_type: 'apns', token: 'a'.repeat(64) },
    { platform: 'ios', token_type: 'fid', token: 'cIzzPzp0QFyA_r-B1hQ9xx' },
    { platform: 'ios', token_type: 'fcm', token: '~'.repeat(4096) },
    { platform: 'android', token_type: 'fcm', token: 'fTq0EXAMPLE:APA91b' },
    { platform: 'android', token_type: 'fid', token: '!' },
    ios({ environment: 'production' }),
    ios({ locale: 'de' }),
    ios({ locale: 'zh-hant-tw' }),
    ios({ locale: 'de-1996-u-co-phonebk' }),
    ios({ locale: `en-x-${'abcdefgh-'.repeat(10)}a` }),
    ios({ app_version: '1' }),
    ios({ app_version: `4.2.0+${'a'.repeat(58)}` }),
    ios({ installation_id: unique('i').padEnd(128, '~') }),
    ios({
      environment: 'sandbox',
      locale: 'EN-us',
      app_version: '4.2.0',
      installation_id: unique('i'),
    }),
    android({ locale: 'de-AT', app_version: '4.2.0', installation_id: unique('i') }),
  ])('%j is a device', async (sent) => {
    const answer = await register(sent, appToken);
    expectAnswer(answer, answer.status === 200 ? 200 : 201, device);
  });
});

describe('a detail of a device', () => {
  const detailsOf = async (id: string) => {
    const { locale, app_version } = await operate('devices', 'show', { device: id });
    return { locale, app_version };
  };

  test.each([
    ['de_AT', 'de-AT'],
    ['zh_Hans_CN', 'zh-Hans-CN'],
    ['zh-Hans_CN', 'zh-Hans-CN'],
    ['zh_CN_#Hans', 'zh-Hans-CN'],
    ['sr_RS_#Latn', 'sr-Latn-RS'],
    ['en_US_POSIX', 'en-US-u-va-posix'],
    ['de_DE.UTF-8', 'de-DE'],
    ['en_GB@rg=dezzzz', 'en-GB'],
    ['iw_IL', 'he-IL'],
    [' de ', 'de'],
  ])('the locale %j becomes the language tag %s', async (locale, tag) => {
    const { id } = (await register(android({ locale }), appToken)).body;
    expect(await detailsOf(id)).toEqual({ locale: tag });
  });

  test('an app version may have spaces, as a build in parentheses has', async () => {
    const { id } = (await register(android({ app_version: ' 4.2.0 (1234) ' }), appToken)).body;
    expect(await detailsOf(id)).toEqual({ app_version: '4.2.0 (1234)' });
  });

  const noLocales = [
    'C',
    'POSIX',
    'English',
    'd',
    'de-',
    'sr_RS@latin',
    '_',
    `en-x-${'a'.repeat(96)}`,
  ];
  const noVersions = ['a'.repeat(65), '4\n2', 'жук'];
  test.each([
    ...noLocales.map((value) => ['locale', value]),
    ...noVersions.map((value) => ['app_version', value]),
  ])('is left out if it cannot be used: %s %j', async (name, value) => {
    const answer = await register(android({ [name]: value }), appToken);
    expectAnswer(answer, 201, device);
    expect(await detailsOf(answer.body.id)).toEqual({});
  });

  test.each([null, '', ' '])('%j says nothing', async (nothing) => {
    const details = { locale: nothing, app_version: nothing };
    const answer = await register(android(details), appToken);
    expectAnswer(answer, 201, device);
    expect(await detailsOf(answer.body.id)).toEqual({});
  });

  test('that cannot be used takes the place of the one before', async () => {
    const sent = android({ app_version: '1' });
    const { id } = (await register(sent, appToken)).body;
    await register({ ...sent, app_version: 'жук' }, appToken);
    expect(await detailsOf(id)).toEqual({});
  });
});

describe('a placeholder for a missing id, which many phones would have, is a 422', () => {
  const missing = ['null', 'NULL', '(null)', '<null>', 'nil', 'undefined', 'None', 'NaN'];
  const everywhere = [...missing, '0', '00000000-0000-0000-0000-000000000000'];
  const naming = /^device\.token must come from the push service: this is a placeholder/;

  test.each([...everywhere, 'BLACKLISTED', 'unregistered'])('token %s', async (token) => {
    const wrong = { status: 422, error: 'unprocessable_entity', naming, fields: ['device.token'] };
    expectError(await register({ platform: 'android', token }, appToken), wrong);
    const ofIos = { platform: 'ios', token_type: 'fcm', token };
    expectError(await register(ofIos, appToken), wrong);
  });

  test('token of zeros for ios', async () => {
    const sent = { platform: 'ios', token: '0'.repeat(64) };
    const wrong = { status: 422, error: 'unprocessable_entity', naming, fields: ['device.token'] };
    expectError(await register(sent, appToken), wrong);
  });

  const shared = ['9774d56d682e549c', 'unknown', '02:00:00:00:00:00', '000000000000000'];
  test.each([...everywhere, ...shared])('installation_id %s', async (installation_id) => {
    expectError(await register(android({ installation_id }), appToken), {
      status: 422,
      error: 'unprocessable_entity',
      naming: /^device\.installation_id must be a random id of this installation/,
      fields: ['device.installation_id'],
    });
  });
});

describe('POST /v2/marketing/push_notifications/devices, 400 device missing or not a hash', () => {
  const noHashes = 'null "ios" "" 7 true [] [["platform","ios"]]'
    .split(' ')
    .map((text) => `{"device":${text}}`);
  const noDevices = '{} {"Device":{"platform":"ios"}} [] [{"device":{}}] null "device" 7'.split(
    ' ',
  );
  test.each([...noHashes, ...noDevices])('the body is %s', async (body) => {
    expectError(await send(body), badRequest);
  });
});

describe('POST /v2/marketing/push_notifications/devices, 422 validation error in device', () => {
  const token = 'a'.repeat(64);
  const fcmToken = 'fTq0EXAMPLE:APA91b';

  test.each<[string, RegExp, unknown[]]>([
    ['platform', /^/, [undefined, 'windows', 'iOS', '', null, 1, ['ios'], 'constructor']],
    ['environment', / must be/, ['Production', '', null, 7, ['sandbox']]],
    ['locale', / must be a string\.$/, [7, ['de']]],
    ['app_version', / must be a string\.$/, [4.2, ['4.2']]],
    ['installation_id', / must be/, ['', ' ', 'a'.repeat(129), 'a b', 'жук', null, 7, {}]],
    ['token_type', / must be apns, fcm or fid\.$/, ['FCM', null, ['fcm']]],
    ['token', / must be /, [null, 7, [token], '', 'a'.repeat(62), 'a'.repeat(65), 'a'.repeat(402)]],
    [
      'token',
      / 64 to 400 hexadecimal digits/,
      ['g'.repeat(64), `${token}\n`, `<${'a'.repeat(62)}>`],
    ],
    ['token', /unless token_type is fcm or fid\.$/, [fcmToken]],
    ['token', / is required\.$/, [undefined]],
  ])('device.%s: %s, when it is invalid for ios', async (name, naming, values) => {
    for (const value of values) {
      const answer = await register({ platform: 'ios', token, [name]: value }, appToken);
      const field = `device.${name}`;
      expectError(answer, {
        status: 422,
        error: 'unprocessable_entity',
        naming: /./,
        fields: [field],
      });
      expect(answer.body.error_description.replace(field, '')).toMatch(naming);
    }
  });

  const visible = /^device\.token must be 1 to 4096 visible ASCII characters/;
  const badTokens = [null, {}, '', 'a'.repeat(4097), 'a b', 'a\n', 'a\0', 'жетон'];
  type Row = [field: string, naming: RegExp, sent: object];
  test.each<Row>([
    ...badTokens.map(
      (bad): Row => ['device.token', /^device\.token must be/, android({ token: bad })],
    ),
    ['device.token', /^device\.token is required\.$/, { platform: 'android' }],
    ['device.token', visible, { platform: 'ios', token_type: 'fcm', token: 'with space' }],
    ['device.token', visible, { platform: 'ios', token_type: 'fid', token: 'a'.repeat(4097) }],
    ['device.token', / 64 to 400 hexa/, { platform: 'ios', token_type: 'apns', token: fcmToken }],
    ['device.token_type', / must be fcm or fid for android\.$/, android({ token_type: 'apns' })],
    [
      'device.environment',
      / not be supplied for android\.$/,
      android({ environment: 'production' }),
    ],
    [
      'device.environment',
      / not be supplied for fcm or fid\.$/,
      ios({ token_type: 'fcm', environment: 'production' }),
    ],
  ])('%s: %s', async (field, naming, sent) => {
    const answer = await register(sent, appToken);
    expectError(answer, { status: 422, error: 'unprocessable_entity', naming, fields: [field] });
  });

  test.each([
    [{}, 'platform token'],
    [{ platform: 'ios', token: 'g', environment: 'x', locale: 7 }, 'token environment locale'],
    [
      { platform: 'android', token: 'a b', environment: 'sandbox', locale: 7 },
      'token environment locale',
    ],
    [
      { platform: 'ios', token, app_version: 7, installation_id: '' },
      'app_version installation_id',
    ],
  ])('%j: each field that is wrong is named', async (sent, wrong) => {
    const fields = wrong.split(' ').map((name) => `device.${name}`);
    expectError(await register(sent, appToken), {
      status: 422,
      error: 'unprocessable_entity',
      fields,
    });
  });
});

test('404 no mobile application for the Login App: it is per platform, and counts from the moment it is set', async () => {
  const app = await createLoginApp(service, unique('one-platform'));
  const token = await loginAppToken(app);
  expectError(await register(ios(), token), notFound('ios'));
  await operate('mobile-applications', 'set', { 'login-app': app.login_app_id, platform: 'ios' });
  expectAnswer(await register(ios(), token), 201, device);
  expectError(await register(android(), token), notFound('android'));
});

test('the request comes first, then the data: 400 and 422, then 404', async () => {
  const token = await loginAppToken(demo.login_app_without_mobile_application);
  for (const [body, error] of [
    ['{', badRequest],
    [{ device: [] }, badRequest],
    [{ device: { platform: 'ios', token: 'x' } }, { status: 422, error: 'unprocessable_entity' }],
    [{ device: ios() }, { status: 404, error: 'not_found' }],
  ] as const) {
    const { status, body: answer } = await json(path, body, { authorization: `Bearer ${token}` });
    expect([status, answer.error]).toEqual([error.status, error.error]);
  }
});
