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

/**
 * Endpoints by their keys, with a content type that each takes, and the most KiB of such a body.
 */
const limits: [key: string, type: string, kilobytes: number][] = [
  ['issue-token', 'application/x-www-form-urlencoded', 64],
  ['revoke-token', 'application/x-www-form-urlencoded', 64],
  ['introspect-token', 'application/x-www-form-urlencoded', 64],
  ['issue-nonce', 'application/x-www-form-urlencoded', 64],
  ['link-identity', 'application/x-www-form-urlencoded', 64],
  ['merge-login-users', 'application/x-www-form-urlencoded', 64],
  ['register-device', 'application/json', 16],
  ['relate-device', 'application/json', 16],
  ['create-access-request', 'application/json', 16],
  ['add-comment', 'application/json', 128],
  ['add-review', 'application/json', 128],
  ['receive-notification', 'application/json', 32],
  ['receive-notification', 'application/secevent+jwt', 32],
  ['receive-notification', 'application/x-www-form-urlencoded', 32],
];

test('each body has a limit', () => {
  const withBody = [...readFunctions().endpoints]
    .filter(([, { body }]) => body)
    .map(([key]) => key);
  expect([...new Set(limits.map(([key]) => key))].sort()).toEqual(withBody.sort());
});

describe.each(limits)('a body of %s in %s', (key, type, kilobytes) => {
  /** The text of the answer to so many bytes of an anonymous caller. */
  async function answerTo(bytes: number) {
    const { path, init } = requestOf(filledIn(eventOf(key), values));
    const headers = { 'content-type': type };
    const { body } = await service.call(path, {
      ...init,
      headers,
      body: Buffer.alloc(bytes, 'a&'),
    });
    return JSON.stringify(body);
  }

  test('is refused above its limit, before anybody asks who calls', async () => {
    const problem = `The body is too large: at most ${kilobytes} KiB are allowed.`;
    expect(await answerTo(kilobytes * 1024 + 1)).toContain(problem);
    expect(await answerTo(10 * 1024 * 1024)).toContain(problem);
    expect(await answerTo(kilobytes * 1024)).not.toContain('too large');
  });
});

test('a form with too many parameters is refused before anybody asks who calls', async () => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const { status, body } = await service.call('/v2/marketing/oauth/token', {
    method: 'POST',
    headers,
    body: 'a&'.repeat(16_000),
  });
  expect([status, body.error_description]).toEqual([400, 'The body has more than 100 parameters.']);
});

test('a comment of the greatest length may have each of its characters escaped', async () => {
  const escaped = JSON.stringify({ actor_type: 'custom', actor_id: '1', comment: 'x' }).replace(
    'x',
    String.raw`\ud83d\ude00`.repeat(10_000),
  );
  const { id } = (await service.createAccessRequest()).body;
  const { status, body } = await service.addEvent('comments', escaped, { id });
  expect([status, body.comment]).toEqual([201, '😀'.repeat(10_000)]);
});

test.each([
  [
    'commas and brackets in a text are no values',
    JSON.stringify(['{[,"\\'.repeat(1_000)]),
    undefined,
  ],
  ['1,000 values', JSON.stringify(Array(999).fill(0)), undefined],
  ['1,001 values', JSON.stringify(Array(1_001).fill(0)), 'The body has more than 1000 values.'],
  ['nested values', '['.repeat(1_001) + ']'.repeat(1_001), 'The body has more than 1000 values.'],
])('JSON that takes long to parse: %s', async (_, sent, problem) => {
  const headers = { authorization: `Bearer ${await service.loginAppToken()}` };
  const { status, body } = await service.json(
    '/v2/marketing/push_notifications/devices',
    sent,
    headers,
  );
  const allowed = 'The body must be a JSON object with the field device.';
  expect([status, body.error_description]).toEqual([400, problem ?? allowed]);
});

test.each([
  [100, 200, undefined],
  [101, 400, 'The body has more than 100 parameters.'],
])('a form of %i parameters: %i', async (count, expected, message) => {
  const junk = Array.from({ length: count - 1 }, (_, index): [string, string] => [`x${index}`, '']);
  const { status, body } = await service.token([['grant_type', 'client_credentials'], ...junk]);
  expect([status, body.error_description]).toEqual([expected, message]);
});

describe('bytes that are not UTF-8 are refused before they become U+FFFD', () => {
  const formType = 'application/x-www-form-urlencoded';
  const withForm = limits.filter(([, type]) => type === formType);
  const ofParameter = 'The parameter access_token has percent-encoded bytes that are not UTF-8.';

  test.each(withForm)('in a form of %s', async (key) => {
    const { path, init } = requestOf(filledIn(eventOf(key), values));
    const answerTo = async (body: string | Buffer) => {
      const headers = { ...Object(init.headers), 'content-type': formType };
      return service.call(path, { ...init, headers, body });
    };
    for (const encoded of ['m%FCller', '%fc%e4', 'a%C3', '%C3ller', '%ED%A0%80', '%C0%AF']) {
      const { status, body } = await answerTo(`access_token=${encoded}&a=%C3%BC`);
      expect([encoded, status, body.error_description]).toEqual([encoded, 400, ofParameter]);
    }
    const raw = await answerTo(Buffer.from('access_token=m\xfcller', 'latin1'));
    expect([raw.status, raw.body.error_description]).toEqual([400, 'The body is not UTF-8.']);
    const unnamed = await answerTo('%FC=1');
    const naming = 'A parameter has percent-encoded bytes that are not UTF-8.';
    expect(unnamed.body.error_description).toBe(naming);
  });

  test.each(['%C3%BC', 'ü', '%EF%BF%BD', '%', '%8', '%zz', '%F0%9F%98%80'])(
    'but not what a form has in UTF-8, or literally: %s',
    async (encoded) => {
      const { body } = await service.call('/v2/marketing/oauth/token', {
        method: 'POST',
        headers: { 'content-type': formType },
        body: `grant_type=${encoded}`,
      });
      expect(body.error_description).not.toContain('UTF-8');
    },
  );

  test('in a query', async () => {
    const { status, body } = await service.call('/v1/rbac/access_requests?text=m%FCller', {
      headers: Object(requestOf(filledIn(eventOf('search-access-requests'), values)).init.headers),
    });
    expect([status, body.error_description]).toEqual([
      400,
      'The query parameter text has percent-encoded bytes that are not UTF-8.',
    ]);
  });

  test('in HTTP Basic, which then has no credentials', async () => {
    const pair = Buffer.from('m\xfcller:secret', 'latin1').toString('base64');
    const { status, body } = await service.call('/v2/marketing/oauth/introspect', {
      method: 'POST',
      headers: { authorization: `Basic ${pair}`, 'content-type': formType },
      body: 'token=x',
    });
    expect([status, body.error]).toEqual([401, 'invalid_client']);
  });
});
