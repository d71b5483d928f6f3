import { describe, test } from '@jest/globals';
import { expectAnswer, expectError } from '../support/expectations.ts';
import { sharedService, unique } from '../support/service.ts';
import { hexToken } from '../support/tokens.ts';

const { demo, json, logIn, loginAppToken, operate, register, relate } = sharedService();
const path = '/v2/marketing/login/user/push_notifications/devices';

const unprocessable = { status: 422, error: 'unprocessable_entity', naming: /device_id/ };
const unknownDevice = `d_${'A'.repeat(43)}`;

const userTokenOf = async (subject: string, client = demo.login_app): Promise<string> =>
  (await logIn(subject, 'provider_f', client)).body.access_token;
const appToken = await loginAppToken();
const userToken = await userTokenOf(unique('alice'));

const newDevice = async (token = appToken): Promise<string> =>
  (await register({ platform: 'ios', token: hexToken() }, token)).body.id;

describe('POST /v2/marketing/login/user/push_notifications/devices', () => {
  test('200 success, and again', async () => {
    const id = await newDevice();
    expectAnswer(await relate(id, userToken), 200, { id });
    expectAnswer(await relate(id, userToken), 200, { id });
  });

  test.each([
    ['Authentication: Bearer', (token: string) => ({ authentication: `Bearer ${token}` })],
    ['Authorization: Bearer', (token: string) => ({ authorization: `Bearer ${token}` })],
    ['Authentication: bearer', (token: string) => ({ authentication: `bearer ${token}` })],
    [
      'both, which agree',
      (token: string) => ({ authentication: `Bearer ${token}`, authorization: `bearer  ${token}` }),
    ],
  ])('the token in the header %s: 200', async (_, headers) => {
    const id = await newDevice();
    expectAnswer(await json(path, { device_id: id }, headers(userToken)), 200, { id });
  });

  test('one user may have several devices, and all of their sessions count', async () => {
    const subject = unique('alice');
    const tokens = await Promise.all([userTokenOf(subject), userTokenOf(subject)]);
    for (const token of tokens) {
      const id = await newDevice();
      expectAnswer(await relate(id, token), 200, { id });
    }
  });

  test('403 the device does not belong to the Login App', async () => {
    const id = await newDevice(await loginAppToken(demo.other_login_app));
    const forbidden = { status: 403, error: 'forbidden', naming: /Login App/ };
    expectError(await relate(id, userToken), forbidden);
    const owner = await userTokenOf(unique('alice'), demo.other_login_app);
    expectAnswer(await relate(id, owner), 200, { id });
    expectError(await relate(id, userToken), forbidden);
  });

  test('422 a disabled device, until it registers again', async () => {
    const phone = { platform: 'ios', token: hexToken() } as const;
    const { id } = (await register(phone, appToken)).body;
    await operate('devices', 'disable', { device: id });
    const naming = 'The device is disabled; register it again first.';
    const refused = await relate(id, userToken);
    expectError(refused, { ...unprocessable, naming, fields: ['device_id'] });
    await register(phone, appToken);
    expectAnswer(await relate(id, userToken), 200, { id });
  });

  test('404 device not found', async () => {
    const notFound = { status: 404, error: 'not_found', naming: /device/ };
    expectError(await relate(unknownDevice, userToken), notFound);
    const id = await newDevice();
    expectError(await relate(`d_${id.slice(2).toUpperCase()}`, userToken), notFound);
  });

  test.each([
    ['empty', ''],
    ['of another form', 'device'],
    ['too short', unknownDevice.slice(0, -1)],
    ['too long', `${unknownDevice}A`],
    ['with a line feed', `${unknownDevice}\n`],
    ['15 kB of garbage', 'x'.repeat(15_000)],
    ['__proto__', '__proto__'],
    ['constructor', 'constructor'],
  ])('404 device not found, whose id is %s', async (_, id) => {
    expectError(await relate(id, userToken), { status: 404, error: 'not_found', naming: /device/ });
  });
});

describe('POST /v2/marketing/login/user/push_notifications/devices, 422 the request', () => {
  test.each([
    ['{}', 'device_id'],
    ['[]', 'device_id'],
    ['[{"device_id":"x"}]', 'device_id'],
    ['{"device_id":null}', 'device_id'],
    ['{"device_id":7}', 'device_id'],
    ['{"device_id":["d_A"]}', 'device_id'],
    ['{"device_id":{}}', 'device_id'],
    ['null', 'body'],
    ['"device_id"', 'body'],
    ['7', 'body'],
    ['true', 'body'],
  ])('the body is %j', async (body, field = '') => {
    const answer = await json(path, body, { authentication: `Bearer ${userToken}` });
    const naming = field === 'body' ? /^The body / : /device_id/;
    expectError(answer, { ...unprocessable, naming, fields: [field] });
  });
});

test('401 when the Authentication and the Authorization header do not agree', async () => {
  const id = await newDevice();
  const other = await userTokenOf(unique('bob'));
  const mine = `Bearer ${userToken}`;
  const disagree = { status: 401, error: 'invalid_token', naming: /Authentication.*Authorization/ };
  for (const foreign of [
    `Bearer ${other}`,
    `Bearer ${appToken}`,
    'Bearer abc',
    'Basic abc',
    'Bearer',
    'x',
  ]) {
    const pairs = [
      [mine, foreign],
      [foreign, mine],
    ] as const;
    for (const [authentication, authorization] of pairs)
      expectError(await json(path, { device_id: id }, { authentication, authorization }), disagree);
  }
});
