import { beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { expectError } from '../support/expectations.ts';
import { type Answer, basic, sharedService, unique } from '../support/service.ts';

/** Never a 401 (the caller is known), never a 500. The HTTP client holds all else against the API document. */
function expectAnswered({ status, body }: Answer): void {
  expect([401, 500]).not.toContain(status);
  const messages: unknown[] = (body?.errors ?? []).map((one: { message: unknown }) => one.message);
  const sentences = [body?.error_description, ...messages];
  for (const sentence of sentences.filter(Boolean)) expect(sentence).toMatch(/^[A-Za-z].*\.$/);
}

const words = (text: string): string[] => text.split(' ');
const names = [
  ...words(
    'grant_type provider access_token access_secret id_token authorization_code refresh_token token_type_hint',
  ),
  ...words('device device_id token platform page page_size ids actor_type actor_id comment status'),
  ...words('__proto__ constructor prototype toString hasOwnProperty then length'),
  '',
];
const values = [
  ...words('provider_credentials provider_authorization_code client_credentials refresh_token'),
  ...words('provider_a provider_b provider_c provider_d provider_e provider_f ios android custom login_user'),
  ...words('1 0 -1 1,2,3 1.5 1e9 NaN null true eyJhbGciOiJub25lIn0.. __proto__ constructor toString'),
  ...['a'.repeat(64), '\r\n', '\0', '%', '%zz', '../..', '☃', '\u2028', '{"a":1}', '[]'],
];

const someText = fc.string({ unit: 'binary', maxLength: 30 });
const someName = fc.oneof(fc.constantFrom(...names), someText);
const someValue = fc.oneof(fc.constantFrom(...values), someText);
const somePairs = fc.array(fc.tuple(someName, someValue), { maxLength: 8 });
/** Text as a URL carries it; what is no Unicode it carries as U+FFFD. */
const encodedPairs = somePairs.map((pairs) => new URLSearchParams(pairs).toString());
const rawText = fc.string({
  unit: fc.constantFrom(...'=&%+;#?,"\'[]{}:\\/ \t\n\0aé☃1'),
  maxLength: 40,
});

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

/** Mostly the right content type, so that most requests get past it. */
const usually = (right: string) => fc.oneof({ weight: 9, arbitrary: fc.constant(right) }, contentTypes);

/** One segment of a path: mostly this one, else whatever text. */
const usuallySegment = (right: string): fc.Arbitrary<string> =>
  fc
    .oneof(
      { weight: 4, arbitrary: fc.constant(right) },
      someValue.filter((text) => text !== '' && text.isWellFormed()),
    )
    .map((text) => encodeURIComponent(text).replaceAll('.', '%2e'))
    // Dots alone lead to another path, which is no endpoint's; so does a slash, which API Gateway decodes first.
    .filter((segment) => !/^(%2e){1,2}$|%2F/.test(segment));

/** What a header can carry. */
const headerText = fc.string({
  unit: fc
    .oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0xa0, max: 0xff }))
    .map((code) => String.fromCharCode(code)),
  maxLength: 300,
});

const { call, createAccessRequest, demo, logIn, loginAppToken } = sharedService();

const client = basic(demo.login_app.client_id, demo.login_app.client_secret);
const account = basic(demo.account.account_id, demo.account.account_secret);
let appToken: string;
let userToken: string;
let refreshToken: string;
let accessRequestId: number;

beforeAll(async () => {
  appToken = await loginAppToken();
  const { body } = await logIn(unique('alice'));
  [userToken, refreshToken] = [body.access_token, body.refresh_token];
  accessRequestId = (await createAccessRequest()).body.id;
});

const post = async (path: string, headers: Record<string, string>, body: string): Promise<void> =>
  expectAnswered(await call(path, { method: 'POST', headers, body: new TextEncoder().encode(body) }));

const form = usually('application/x-www-form-urlencoded');
/** A form with some fields that make sense, and then others. */
const formWith = (fields: fc.Arbitrary<[string, string][]>): fc.Arbitrary<string> =>
  fc.tuple(fields, somePairs).map(([first, pairs]) => new URLSearchParams([...first, ...pairs]).toString());
/** One of the tests' own tokens, as it is or with one character changed; or anything else. */
const someToken = fc.oneof(
  fc
    .tuple(fc.constantFrom('refresh', 'user', 'app'), fc.nat(500), fc.constantFrom('', 'A', '.', '☃'))
    .map(([kind, place, text]) => {
      const token = { refresh: refreshToken, user: userToken, app: appToken }[kind] ?? '';
      return token.slice(0, place) + text + token.slice(place + 1);
    }),
  someValue,
);

describe('whatever is sent, the answer is a documented one', () => {
  const grant = (grant_type: string): [string, string] => ['grant_type', grant_type];
  const providers = fc.constantFrom('provider_a', 'provider_b', 'provider_c', 'provider_e', 'provider_f');
  const grants = {
    provider_credentials: providers.map((provider) => [['provider', provider]]),
    provider_authorization_code: providers.map((provider) => [['provider', provider]]),
    refresh_token: someToken.map((token) => [['refresh_token', token]]),
    client_credentials: fc.constant([]),
  } satisfies Record<string, fc.Arbitrary<string[][]>>;

  test.each(Object.entries(grants))('POST /v2/marketing/oauth/token, %s', async (grant_type, fields) => {
    const nearlyRight = formWith(
      fields.map((more) => [
        grant(grant_type),
        ...more.map(([name = '', value = '']): [string, string] => [name, value]),
      ]),
    );
    await fc.assert(
      fc.asyncProperty(nearlyRight, form, (body, type) =>
        post('/v2/marketing/oauth/token', { authorization: client, 'content-type': type }, body),
      ),
      { numRuns: 50 },
    );
  });

  test.each(['token', 'revoke', 'introspect'])('POST /v2/marketing/oauth/%s', async (action) => {
    const nearlyRight = formWith(someToken.map((token) => [['token', token]]));
    await fc.assert(
      fc.asyncProperty(fc.oneof(encodedPairs, nearlyRight, rawText), form, (body, type) =>
        post(`/v2/marketing/oauth/${action}`, { authorization: client, 'content-type': type }, body),
      ),
      { numRuns: 75 },
    );
  });

  test('POST /v2/marketing/push_notifications/devices', async () => {
    const someDetail = fc.oneof(fc.constantFrom('sandbox', 'de-AT', '4.2.0'), someValue, someJson);
    const someDevice = fc
      .record(
        { environment: someDetail, locale: someDetail, app_version: someDetail, installation_id: someDetail },
        { requiredKeys: [] },
      )
      .map((details) => JSON.stringify({ device: { platform: 'ios', token: 'a'.repeat(64), ...details } }));
    await fc.assert(
      fc.asyncProperty(fc.oneof(someDevice, jsonText), usually('application/json'), (body, type) => {
        const headers = { authorization: `Bearer ${appToken}`, 'content-type': type };
        return post('/v2/marketing/push_notifications/devices', headers, body);
      }),
      { numRuns: 150 },
    );
  });

  const ofPerson = '/v2/marketing/login/user/push_notifications/devices';
  const newUserToken = async () => (await logIn(unique('alice'))).body.access_token;

  test(`POST ${ofPerson}`, async () => {
    const authentication = `Bearer ${await newUserToken()}`;
    await fc.assert(
      fc.asyncProperty(jsonText, usually('application/json'), (body, type) =>
        post(ofPerson, { authentication, 'content-type': type }, body),
      ),
      { numRuns: 150 },
    );
  });

  test(`GET ${ofPerson}`, async () => {
    const authentication = `Bearer ${await newUserToken()}`;
    await fc.assert(
      fc.asyncProperty(encodedPairs, async (query) =>
        expectAnswered(await call(`${ofPerson}?${query}`, { headers: { authentication } })),
      ),
      { numRuns: 25 },
    );
  });

  test(`GET ${ofPerson}, with any token`, async () => {
    await fc.assert(
      fc.asyncProperty(headerText, async (token) => {
        const answer = await call(ofPerson, { headers: { authentication: `Bearer ${token}` } });
        expectError(answer, { status: 401, error: 'invalid_token' });
      }),
      { numRuns: 50 },
    );
  });

  test(`DELETE ${ofPerson}/{device_id}`, async () => {
    const authentication = `Bearer ${await newUserToken()}`;
    const someId = usuallySegment(`d_${'A'.repeat(43)}`);
    await fc.assert(
      fc.asyncProperty(someId, async (id) =>
        expectAnswered(await call(`${ofPerson}/${id}`, { method: 'DELETE', headers: { authentication } })),
      ),
      { numRuns: 75 },
    );
  });

  const forSenders = '/v2/marketing/push_notifications';

  test(`GET ${forSenders}/recipients`, async () => {
    const someParameter = fc.tuple(
      fc.constantFrom('login_user_id', 'shard', 'limit', 'cursor', 'platform'),
      fc.oneof(fc.nat(20).map(String), someValue),
    );
    const parameters = fc.array(someParameter, { minLength: 1, maxLength: 3 });
    const query = fc.oneof(
      parameters.map((pairs) => new URLSearchParams(pairs).toString()),
      encodedPairs,
    );
    await fc.assert(
      fc.asyncProperty(query, async (text) =>
        expectAnswered(
          await call(`${forSenders}/recipients?${text}`, { headers: { authorization: client } }),
        ),
      ),
      { numRuns: 75 },
    );
  });

  test(`DELETE ${forSenders}/devices/{device_id}`, async () => {
    const someId = usuallySegment(`d_${'A'.repeat(43)}`);
    const request = { method: 'DELETE', headers: { authorization: client } };
    await fc.assert(
      fc.asyncProperty(someId, async (id) =>
        expectAnswered(await call(`${forSenders}/devices/${id}`, request)),
      ),
      { numRuns: 75 },
    );
  });

  const user = '/v2/marketing/login/user';
  const identityFields = providers.map((provider): [string, string][] => [['provider', provider]]);

  test(`POST ${user}/identities`, async () => {
    const authorization = `Bearer ${await newUserToken()}`;
    await fc.assert(
      fc.asyncProperty(fc.oneof(formWith(identityFields), encodedPairs, rawText), form, (body, type) =>
        post(`${user}/identities`, { authorization, 'content-type': type }, body),
      ),
      { numRuns: 75 },
    );
  });

  test.each(['identities', 'sessions'])(`DELETE ${user}/%s/{id}`, async (path) => {
    const authorization = `Bearer ${await newUserToken()}`;
    const someId = usuallySegment(`${path.charAt(0)}_${'A'.repeat(22)}`);
    await fc.assert(
      fc.asyncProperty(someId, async (id) =>
        expectAnswered(await call(`${user}/${path}/${id}`, { method: 'DELETE', headers: { authorization } })),
      ),
      { numRuns: 75 },
    );
  });

  test(`DELETE ${user}/sessions, with any query that is not right`, async () => {
    const authorization = `Bearer ${await newUserToken()}`;
    await fc.assert(
      fc.asyncProperty(encodedPairs, async (query) =>
        expectAnswered(
          await call(`${user}/sessions?except=current&${query}`, {
            method: 'DELETE',
            headers: { authorization },
          }),
        ),
      ),
      { numRuns: 25 },
    );
  });

  test('POST /v2/marketing/providers/{provider}/notifications', async () => {
    const id = demo.login_app.login_app_id;
    const bodies = fc.oneof(
      someJson.map((payload) => JSON.stringify({ payload })),
      jsonText,
    );
    const query = fc.oneof(fc.constant(`login_app_id=${id}`), encodedPairs);
    await fc.assert(
      fc.asyncProperty(usuallySegment('provider_f'), query, bodies, (provider, sent, body) =>
        post(
          `/v2/marketing/providers/${provider}/notifications?${sent}`,
          { 'content-type': 'application/json' },
          body,
        ),
      ),
      { numRuns: 75 },
    );
  });

  test('POST /v1/rbac/access_requests', async () => {
    await fc.assert(
      fc.asyncProperty(fc.option(headerText), jsonText, usually('application/json'), (key, body, type) => {
        const keyed = key === null ? {} : { 'idempotency-key': key };
        const headers = { authorization: account, 'content-type': type, ...keyed };
        return post('/v1/rbac/access_requests', headers, body);
      }),
      { numRuns: 50 },
    );
  });

  test.each(['comments', 'reviews'])('POST /v1/rbac/access_requests/{access_request_id}/%s', async (path) => {
    const someEvent = fc.record(
      {
        actor_type: fc.oneof(fc.constantFrom('login_user', 'custom'), someJson),
        actor_id: fc.oneof(someValue, someJson),
        comment: fc.oneof(someValue, someJson),
        status: fc.oneof(fc.constantFrom('approved', 'rejected'), someJson),
      },
      { requiredKeys: ['actor_type', 'actor_id', 'comment'] },
    );
    const body = fc.oneof(
      someEvent.map((event) => JSON.stringify(event)),
      jsonText,
    );
    const id = usuallySegment(String(accessRequestId));
    await fc.assert(
      fc.asyncProperty(
        id,
        fc.option(headerText),
        body,
        usually('application/json'),
        (segment, key, text, type) => {
          const keyed = key === null ? {} : { 'idempotency-key': key };
          const headers = { authorization: account, 'content-type': type, ...keyed };
          return post(`/v1/rbac/access_requests/${segment}/${path}`, headers, text);
        },
      ),
      { numRuns: 100 },
    );
  });

  test.each(['events', 'reviews'])('GET /v1/rbac/access_requests/{access_request_id}/%s', async (path) => {
    const someId = usuallySegment(String(demo.access_request_id));
    const someQuery = fc.oneof(encodedPairs, rawText.map(encodeURI));
    await fc.assert(
      fc.asyncProperty(someId, someQuery, async (id, query) => {
        const url = `/v1/rbac/access_requests/${id}/${path}?${query}`;
        expectAnswered(await call(url, { headers: { authorization: account } }));
      }),
      { numRuns: 100 },
    );
  });
});
