import { beforeAll, describe, expect, test } from '@jest/globals';
import { expectAnswer, expectError } from '../support/expectations.ts';
import { sharedService, unique } from '../support/service.ts';
import { hexToken } from '../support/tokens.ts';

const service = sharedService();
const { loginAppToken, register } = service;
const device = { id: expect.stringMatching(/^d_[\w-]{43}$/) };
let appToken: string;

beforeAll(async () => {
  appToken = await loginAppToken();
});

const ios = (details: object) => register({ platform: 'ios', token: hexToken(), ...details }, appToken);
const android = (details: object) =>
  register({ platform: 'android', token: unique('push-token'), ...details }, appToken);

describe('a registration may say more of the device', () => {
  test.each([
    { environment: 'production' },
    { environment: 'sandbox' },
    { locale: 'de' },
    { locale: 'EN-us' },
    { locale: 'zh-hant-tw' },
    { locale: 'de-1996-u-co-phonebk' },
    { locale: `en-x-${'abcdefgh-'.repeat(10)}a` },
    { app_version: '1' },
    { app_version: `4.2.0+${'a'.repeat(58)}` },
    { installation_id: unique('i') },
    { installation_id: unique('i').padEnd(128, '~') },
    { environment: 'sandbox', locale: 'de-AT', app_version: '4.2.0', installation_id: unique('i') },
  ])('ios: %j', async (details) => {
    expectAnswer(await ios(details), 201, device);
  });

  test('android: all of them but the environment', async () => {
    const details = { locale: 'de-AT', app_version: '4.2.0', installation_id: unique('i') };
    expectAnswer(await android(details), 201, device);
  });

  test.each([
    ['environment', ['Production', 'development', '', null, 7, ['sandbox']]],
    [
      'locale',
      ['', 'd', 'de_AT', 'de-', 'german language', 'de\n', `en-x-${'a'.repeat(96)}`, null, 7, ['de']],
    ],
    ['app_version', ['', ' ', '4.2 beta', 'a'.repeat(65), '4\n', 'жук', null, 4.2, ['4.2']]],
    ['installation_id', ['', ' ', 'a'.repeat(129), 'a b', 'жук', null, 7, {}]],
  ])('device.%s that is invalid is a 422 that names it', async (name, values) => {
    for (const value of values) {
      const field = `device.${name}`;
      const answer = await ios({ [name]: value });
      expectError(answer, {
        status: 422,
        error: 'unprocessable_entity',
        naming: new RegExp(`device\\.${name} must be`),
        fields: [field],
      });
    }
  });

  test('each one that is invalid is named', async () => {
    const wrong = { environment: 'x', locale: '_', app_version: '', installation_id: '' };
    expectError(await ios(wrong), {
      status: 422,
      error: 'unprocessable_entity',
      naming: /device\.environment/,
      fields: ['device.environment', 'device.locale', 'device.app_version', 'device.installation_id'],
    });
  });

  test.each([
    ['android', 'with space', 'sandbox'],
    ['ios', 'not-hexadecimal', 'x'],
  ])('also what is invalid for %s alone', async (platform, token, environment) => {
    const device = { platform, token, environment, locale: '_' };
    expectError(await register(device, appToken), {
      status: 422,
      error: 'unprocessable_entity',
      naming: /device\.locale/,
      fields: ['device.token', 'device.environment', 'device.locale'],
    });
  });

  test('an environment is for APNs tokens alone', async () => {
    const answers = {
      android: await android({ environment: 'production' }),
      'fcm or fid': await ios({ token_type: 'fcm', environment: 'production' }),
    };
    for (const [what, answer] of Object.entries(answers)) {
      expectError(answer, {
        status: 422,
        error: 'unprocessable_entity',
        naming: new RegExp(`device\\.environment must not be supplied for ${what}\\.`),
        fields: ['device.environment'],
      });
    }
  });

  test.each([
    ['ios', 'apns', 'a'.repeat(64)],
    ['ios', 'fcm', 'fTq0EXAMPLE:APA91b'],
    ['ios', 'fid', 'cIzzPzp0QFyA_r-B1hQ9xx'],
    ['ios', 'fcm', '~'.repeat(4096)],
    ['android', 'fcm', 'fTq0EXAMPLE:APA91b'],
    ['android', 'fid', '!'],
  ])('%s: %s is the type of the token %.30s', async (platform, token_type, token) => {
    const answer = await register({ platform, token_type, token }, appToken);
    expectAnswer(answer, answer.status === 200 ? 200 : 201, device);
  });

  test.each([
    ['ios', 'apns', 'fTq0EXAMPLE:APA91b', /^device\.token must be 64 to 400 hexadecimal digits/],
    ['ios', undefined, 'fTq0EXAMPLE:APA91b', /unless token_type is fcm or fid\.$/],
    ['ios', 'fcm', 'with space', /^device\.token must be 1 to 4096 visible ASCII characters/],
    ['ios', 'fid', 'a'.repeat(4097), /^device\.token must be 1 to 4096 visible ASCII characters/],
    ['android', 'fid', '', /^device\.token must be 1 to 4096 visible ASCII characters/],
    ['android', 'apns', 'a'.repeat(64), /^device\.token_type must be fcm or fid for android\.$/],
    ['ios', 'FCM', 'fTq0EXAMPLE:APA91b', /^device\.token_type must be apns, fcm or fid\.$/],
    ['ios', null, 'fTq0EXAMPLE:APA91b', /^device\.token_type must be apns, fcm or fid\.$/],
    ['android', ['fcm'], 'fTq0EXAMPLE:APA91b', /^device\.token_type must be apns, fcm or fid\.$/],
  ])('%s: with the type %j, the token %.20s is a 422', async (platform, token_type, token, naming) => {
    const [field = ''] = naming.source.includes('token_type must') ? ['device.token_type'] : ['device.token'];
    const answer = await register({ platform, token_type, token }, appToken);
    expectError(answer, { status: 422, error: 'unprocessable_entity', naming, fields: [field] });
  });
});
