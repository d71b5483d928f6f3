import { describe, expect, test } from '@jest/globals';
import { basic, sharedService, unique } from '../support/service.ts';

const service = sharedService();
const { login_app } = service.demo;

test('a form with a hundred parameters more hides none of them: 400', async () => {
  const junk = Array.from({ length: 1_000 }, (_, index): [string, string] => [`x${index}`, '']);
  const { access_token = '' } = await service.credentials('provider_a', { subject: unique('alice') });
  const { status, body } = await service.token([
    ['grant_type', 'provider_credentials'],
    ['provider', 'provider_a'],
    ['access_token', access_token],
    ...junk,
    ['access_secret', 'x'],
  ]);
  expect({ status, body }).toEqual({
    status: 400,
    body: { error: 'invalid_request', error_description: 'The body has more than 100 parameters.' },
  });
});

test('a body of 300 kB is not parsed: 400', async () => {
  const path = '/v2/marketing/push_notifications/devices';
  const body = JSON.stringify({ device: Array(150_000).fill(0) });
  const headers = { authorization: `Bearer ${await service.loginAppToken()}` };
  const json = await service.json(path, body, headers);
  expect([json.status, json.body.error_description]).toEqual([400, 'The body is too large.']);
  const form = await service.call('/v2/marketing/oauth/token', {
    method: 'POST',
    headers: { authorization: basic(login_app.client_id, login_app.client_secret) },
    body: new URLSearchParams({ grant_type: 'client_credentials', junk: 'x'.repeat(300_000) }),
  });
  expect([form.status, form.body.error_description]).toEqual([400, 'The body is too large.']);
});

test.each([
  [262_144, 'The body must be a JSON object with the field device.'],
  [262_145, 'The body is too large.'],
])('a body of %i bytes: %s', async (length, message) => {
  const around = JSON.stringify({ junk: '' }).length;
  const body = JSON.stringify({ junk: 'x'.repeat(length - around) });
  const headers = { authorization: `Bearer ${await service.loginAppToken()}` };
  const answer = await service.json('/v2/marketing/push_notifications/devices', body, headers);
  expect([answer.status, answer.body.error_description]).toEqual([400, message]);
});

test.each([
  [100, 200],
  [101, 400],
])('a form of %i parameters: %i', async (count, status) => {
  const junk = Array.from({ length: count - 1 }, (_, index): [string, string] => [`x${index}`, '']);
  expect((await service.token([['grant_type', 'client_credentials'], ...junk])).status).toBe(status);
});

describe('a body that cannot be read: the error says what is wrong with it', () => {
  const devices = '/v2/marketing/push_notifications/devices';
  const post = async (path: string, authorization: string, type: string, body: string) => {
    const headers = { authorization, 'content-type': type };
    const answer = await service.call(path, { method: 'POST', headers, body });
    return [answer.status, answer.body.error, answer.body.error_description];
  };

  test.each([
    ['text/plain', '{"device":{}}', 'The content type must be application/json.'],
    ['application/json', '{"device":', 'The body is not valid JSON.'],
    ['application/json', '', 'The body is missing.'],
    [
      'application/json',
      '{"x":{"__proto__":{}}}',
      'The body has the key __proto__, or constructor with prototype.',
    ],
    [
      'application/json',
      '[{"constructor":{"prototype":1}}]',
      'The body has the key __proto__, or constructor with prototype.',
    ],
  ])('%s: %s', async (type, body, message) => {
    const authorization = `Bearer ${await service.loginAppToken()}`;
    expect(await post(devices, authorization, type, body)).toEqual([400, 'invalid_request', message]);
  });

  test('a form of another content type', async () => {
    const authorization = basic(login_app.client_id, login_app.client_secret);
    const message = 'The content type must be application/x-www-form-urlencoded.';
    expect(
      await post(
        '/v2/marketing/oauth/token',
        authorization,
        'application/json',
        '{"grant_type":"refresh_token"}',
      ),
    ).toEqual([400, 'invalid_request', message]);
  });
});
