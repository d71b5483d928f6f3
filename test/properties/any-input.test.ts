import { beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Answer, basic, sharedService, unique } from '../support/service.ts';

const { call, demo, logIn, loginAppToken } = sharedService();

const codes = new Map([
  ['invalid_request', 400],
  ['invalid_grant', 400],
  ['unsupported_grant_type', 400],
  ['forbidden', 403],
  ['not_found', 404],
  ['unprocessable_entity', 422],
]);

/** A success, or a refusal of the documented shape: never a 401 (the caller is known), never a 500. */
function expectDocumented({ status, body, headers }: Answer): void {
  expect(headers.get('content-type')).toBe('application/json');
  expect(headers.get('cache-control')).toBe('no-store');
  if (status === 200 || status === 201) return;
  expect({ status, body }).toEqual({
    status: codes.get(body.error),
    body: {
      error: expect.any(String),
      error_description: expect.stringMatching(/^[A-Za-z].*\.$/),
      ...(status === 422 && { errors: expect.any(Array) }),
    },
  });
  for (const error of body.errors ?? []) {
    expect(error).toEqual({ field: expect.any(String), message: expect.stringMatching(/^[A-Za-z].*\.$/) });
  }
}

const names = [
  ...['grant_type', 'provider', 'access_token', 'access_secret', 'id_token', 'authorization_code'],
  ...['device', 'device_id', 'token', 'platform', 'page', 'page_size', 'ids', 'actor_type', 'actor_id'],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'then', 'length', ''],
];
const values = [
  ...['provider_credentials', 'provider_authorization_code', 'client_credentials', 'ios', 'android'],
  ...['provider_a', 'provider_b', 'provider_c', 'provider_d', 'provider_e', 'provider_f', 'a'.repeat(64)],
  ...[
    'custom',
    'login_user',
    '1',
    '0',
    '-1',
    '1,2,3',
    '1.5',
    '1e9',
    'NaN',
    'null',
    'true',
    'eyJhbGciOiJub25lIn0..',
  ],
  ...[
    '__proto__',
    'constructor',
    'toString',
    '\r\n',
    '\0',
    '%',
    '%zz',
    '../..',
    '☃',
    '\u2028',
    '{"a":1}',
    '[]',
  ],
];

const someText = fc.string({ unit: 'binary', maxLength: 30 });
const someName = fc.oneof(fc.constantFrom(...names), someText);
const someValue = fc.oneof(fc.constantFrom(...values), someText);
const somePairs = fc.array(fc.tuple(someName, someValue), { maxLength: 8 });
/** Text as a URL carries it; what is no Unicode it carries as U+FFFD. */
const encodedPairs = somePairs.map((pairs) => new URLSearchParams(pairs).toString());
const rawText = fc.string({ unit: fc.constantFrom(...'=&%+;#?,"\'[]{}:\\/ \t\n\0aé☃1'), maxLength: 40 });

const someJson = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    someValue,
    fc.constantFrom(null, true, false, 0, -1, 1.5, 1e300),
    fc.array(tie('value'), { maxLength: 4 }),
    fc
      .array(fc.tuple(someName, tie('value')), { maxLength: 5 })
      .map((entries) => Object.fromEntries(entries)),
  ),
})).value;
const jsonText = fc.oneof(
  someJson.map((value) => JSON.stringify(value)),
  someJson.map((device) => JSON.stringify({ device })),
  someJson.map((token) => JSON.stringify({ device: { platform: 'android', token } })),
  someJson.map((device_id) => JSON.stringify({ device_id })),
  rawText,
);

const contentTypes = fc.constantFrom(
  'application/json',
  'application/x-www-form-urlencoded',
  'application/x-www-form-urlencoded; charset=latin1',
  'text/plain',
  'application/octet-stream',
);

/** Mostly the right one, so that most requests get past it. */
const usually = (right: string) => fc.oneof({ weight: 9, arbitrary: fc.constant(right) }, contentTypes);

const client = basic(demo.login_app.client_id, demo.login_app.client_secret);
const account = basic(demo.account.account_id, demo.account.account_secret);
let appToken: string;
let userToken: string;

beforeAll(async () => {
  appToken = await loginAppToken();
  userToken = (await logIn(unique('alice'))).body.access_token;
});

const post = async (path: string, headers: Record<string, string>, body: string): Promise<void> =>
  expectDocumented(await call(path, { method: 'POST', headers, body: new TextEncoder().encode(body) }));

describe('whatever is sent, the answer is a documented one', () => {
  test('POST /v2/marketing/oauth/token', async () => {
    const grants = fc.constantFrom('provider_credentials', 'provider_authorization_code');
    const providers = fc.constantFrom('provider_a', 'provider_b', 'provider_c', 'provider_e', 'provider_f');
    const nearlyRight = fc
      .tuple(grants, providers, somePairs)
      .map(([grant_type, provider, pairs]) =>
        new URLSearchParams([['grant_type', grant_type], ['provider', provider], ...pairs]).toString(),
      );
    const form = usually('application/x-www-form-urlencoded');
    await fc.assert(
      fc.asyncProperty(fc.oneof(encodedPairs, nearlyRight, rawText), form, (body, type) =>
        post('/v2/marketing/oauth/token', { authorization: client, 'content-type': type }, body),
      ),
      { numRuns: 300 },
    );
  });

  test('POST /v2/marketing/push_notifications/devices', async () => {
    await fc.assert(
      fc.asyncProperty(jsonText, usually('application/json'), (body, type) => {
        const headers = { authorization: `Bearer ${appToken}`, 'content-type': type };
        return post('/v2/marketing/push_notifications/devices', headers, body);
      }),
      { numRuns: 300 },
    );
  });

  test('POST /v2/marketing/login/user/push_notifications/devices', async () => {
    await fc.assert(
      fc.asyncProperty(jsonText, usually('application/json'), (body, type) => {
        const headers = { authentication: `Bearer ${userToken}`, 'content-type': type };
        return post('/v2/marketing/login/user/push_notifications/devices', headers, body);
      }),
      { numRuns: 300 },
    );
  });

  test.each(['events', 'reviews'])('GET /v1/rbac/access_requests/{access_request_id}/%s', async (path) => {
    const someId = fc.oneof(
      { weight: 4, arbitrary: fc.constant(String(demo.access_request_id)) },
      someValue.filter((text) => text !== '' && text.isWellFormed()),
    );
    const someQuery = fc.oneof(encodedPairs, rawText.map(encodeURI));
    await fc.assert(
      fc.asyncProperty(someId, someQuery, async (id, query) => {
        const segment = encodeURIComponent(id).replaceAll('.', '%2e');
        // Dots alone lead to another path, which is no endpoint's; so does a slash, which API Gateway decodes first.
        fc.pre(!/^(%2e){1,2}$|%2F/.test(segment));
        const url = `/v1/rbac/access_requests/${segment}/${path}?${query}`;
        expectDocumented(await call(url, { headers: { authorization: account } }));
      }),
      { numRuns: 200 },
    );
  });
});
