import { expect, test } from '@jest/globals';
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
