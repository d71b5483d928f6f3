import { describe, expect, test } from '@jest/globals';
import { readFunctions } from '../../infra/endpoints.ts';
import { eventOf, filledIn, requestOf } from '../support/event-files.ts';
import { expectError } from '../support/expectations.ts';
import { newRealValues } from '../support/real-values.ts';
import { sharedService } from '../support/service.ts';

const service = sharedService();
const { values } = await newRealValues(service);
const takingJson = [...readFunctions().endpoints].filter(
  ([, { body }]) => body?.contentType === 'application/json' && !body.others,
);

describe.each(takingJson)('the JSON of %s', (key, { body }) => {
  const { path, init } = requestOf(filledIn(eventOf(key), values));
  const right = String(init.body);
  const send = (sent: NonNullable<RequestInit['body']>, type = 'application/json') => {
    const { 'content-type': _, ...headers } = Object(init.headers);
    return service.call(path, {
      ...init,
      headers: { ...headers, ...(type && { 'content-type': type }) },
      body: sent,
    });
  };
  const errors =
    key === 'relate-device'
      ? { status: 422, error: 'unprocessable_entity', fields: ['body'] }
      : { status: 400, error: 'invalid_request' };

  const aboutPrototypes = 'The body has the key __proto__, or constructor with prototype.';
  const notJson = ['{', `${right}x`, 'a=x', "{'a':{}}", '\0'];
  test.each([
    ...(body?.isOptional ? [] : [['', 'The body is missing.']]),
    ...notJson.map((text) => [text, 'The body is not valid JSON.']),
    ['{"a":{"__proto__":{"platform":"ios"}}}', aboutPrototypes],
    ['[{"constructor":{"prototype":1}}]', aboutPrototypes],
  ])('%j is an error', async (text = '', naming = '') => {
    expectError(await send(text), { ...errors, naming });
  });

  test.each(['', 'text/plain', 'application/x-www-form-urlencoded', 'application/jsonx'])(
    'as %j is an error',
    async (type) => {
      const naming = 'The content type must be application/json.';
      expectError(await send(Buffer.from(right), type), { ...errors, naming });
    },
  );

  test.each(['', '; charset=utf-8', ' ;charset=utf-8', '\t; charset="utf-8"'])(
    'with the parameters %j (RFC 9110, section 5.6.6) is in UTF-8',
    async (parameters) => {
      const type = `application/json${parameters}`;
      expect((await send(right, type)).status).toBeLessThan(300);
      const latin1 = Buffer.from(right.replace('{', '{"ü":"Gr\xfc\xdfe",'), 'latin1');
      expectError(await send(latin1, type), { ...errors, naming: 'The body is not UTF-8.' });
    },
  );
});

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
