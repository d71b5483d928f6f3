import { expect, test } from '@jest/globals';
import { sharedService } from '../support/service.ts';

const service = sharedService();

test('a form of 300 kB is not parsed: 400', async () => {
  const { status, body } = await service.token({
    grant_type: 'client_credentials',
    junk: 'x'.repeat(300_000),
  });
  expect([status, body.error_description]).toEqual([400, 'The body is too large.']);
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
  [100, 200, undefined],
  [101, 400, 'The body has more than 100 parameters.'],
])('a form of %i parameters: %i', async (count, expected, message) => {
  const junk = Array.from({ length: count - 1 }, (_, index): [string, string] => [`x${index}`, '']);
  const { status, body } = await service.token([['grant_type', 'client_credentials'], ...junk]);
  expect([status, body.error_description]).toEqual([expected, message]);
});
