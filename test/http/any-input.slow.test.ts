import { beforeAll, expect, test } from '@jest/globals';
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

const accessRequest = usuallySegment(String((await createAccessRequest()).body.id));

beforeAll(async () => {
  appToken = await loginAppToken();
  const { body } = await logIn(unique('alice'));
  [userToken, refreshToken] = [body.access_token, body.refresh_token];
});

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

const grant = (grant_type: string): [string, string][] => [['grant_type', grant_type]];
const provider = fc
  .constantFrom('provider_a', 'provider_b', 'provider_c', 'provider_e', 'provider_f')
  .map((id): [string, string][] => [['provider', id]]);
const withField = (name: string, value: fc.Arbitrary<string>) =>
  value.map((text): [string, string][] => [[name, text]]);
const grantForms: Record<string, fc.Arbitrary<[string, string][]>> = {
  provider_credentials: provider,
  provider_authorization_code: provider,
  refresh_token: withField('refresh_token', someToken),
  client_credentials: fc.constant([]),
};

const someDetail = fc.oneof(fc.constantFrom('sandbox', 'de-AT', '4.2.0'), someValue, someJson);
const someDevice = fc
  .record(
    { environment: someDetail, locale: someDetail, app_version: someDetail, installation_id: someDetail },
    { requiredKeys: [] },
  )
  .map((details) => JSON.stringify({ device: { platform: 'ios', token: 'a'.repeat(64), ...details } }));
const someEvent = fc
  .record(
    {
      actor_type: fc.oneof(fc.constantFrom('login_user', 'custom'), someJson),
      actor_id: fc.oneof(someValue, someJson),
      comment: fc.oneof(someValue, someJson),
      status: fc.oneof(fc.constantFrom('approved', 'rejected'), someJson),
    },
    { requiredKeys: ['actor_type', 'actor_id', 'comment'] },
  )
  .map((event) => JSON.stringify(event));
const recipientsQuery = fc
  .array(
    fc.tuple(
      fc.constantFrom('login_user_id', 'shard', 'limit', 'cursor', 'platform'),
      fc.oneof(fc.nat(20).map(String), someValue),
    ),
    { minLength: 1, maxLength: 3 },
  )
  .map((pairs) => new URLSearchParams(pairs).toString());

/** Who asks, by the header that says so. */
const callers: Record<string, () => Record<string, string> | Promise<Record<string, string>>> = {
  client: () => ({ authorization: client }),
  account: () => ({ authorization: account }),
  app: () => ({ authorization: `Bearer ${appToken}` }),
  // One of a session that no other test ends.
  user: async () => ({ authorization: `Bearer ${(await logIn(unique('alice'))).body.access_token}` }),
  nobody: () => ({}),
};

/** What is sent to an endpoint, besides the caller: the last segment of its path, a query, a body and its type. */
interface Input {
  segment?: fc.Arbitrary<string>;
  query?: fc.Arbitrary<string>;
  json?: fc.Arbitrary<string>;
  form?: fc.Arbitrary<string>;
  /** Of the header Idempotency-Key. */
  key?: fc.Arbitrary<string | null>;
}

const oauth = '/v2/marketing/oauth';
const user = '/v2/marketing/login/user';
const devices = `${user}/push_notifications/devices`;
const senders = '/v2/marketing/push_notifications';
const requests = '/v1/rbac/access_requests';
const deviceId = usuallySegment(`d_${'A'.repeat(43)}`);
const key = fc.option(headerText);

const endpoints: [string, keyof typeof callers, Input, runs: number][] = [
  ...Object.entries(grantForms).map(([name, fields]): (typeof endpoints)[number] => [
    ...([`POST ${oauth}/token ${name}`, 'client'] as const),
    ...([{ form: formWith(fields.map((more) => [...grant(name), ...more])) }, 50] as const),
  ]),
  ...['token', 'revoke', 'introspect'].map((action): (typeof endpoints)[number] => {
    const body = fc.oneof(encodedPairs, formWith(withField('token', someToken)), rawText);
    return [`POST ${oauth}/${action}`, 'client', { form: body }, 75];
  }),
  [`POST ${senders}/devices`, 'app', { json: fc.oneof(someDevice, jsonText) }, 150],
  [`POST ${devices}`, 'user', { json: jsonText }, 150],
  [`GET ${devices}`, 'user', { query: encodedPairs }, 25],
  [`DELETE ${devices}/ID`, 'user', { segment: deviceId }, 75],
  [`GET ${senders}/recipients`, 'client', { query: fc.oneof(recipientsQuery, encodedPairs) }, 75],
  [`DELETE ${senders}/devices/ID`, 'client', { segment: deviceId }, 75],
  [`POST ${user}/identities`, 'user', { form: fc.oneof(formWith(provider), encodedPairs, rawText) }, 75],
  [`DELETE ${user}/identities/ID`, 'user', { segment: usuallySegment(`i_${'A'.repeat(22)}`) }, 75],
  [`DELETE ${user}/sessions/ID`, 'user', { segment: usuallySegment(`s_${'A'.repeat(22)}`) }, 75],
  [`DELETE ${user}/sessions`, 'user', { query: encodedPairs.map((more) => `except=current&${more}`) }, 25],
  [
    'POST /v2/marketing/providers/ID/notifications',
    'nobody',
    {
      segment: usuallySegment('provider_f'),
      query: fc.oneof(fc.constant(`login_app_id=${demo.login_app.login_app_id}`), encodedPairs),
      json: fc.oneof(
        someJson.map((payload) => JSON.stringify({ payload })),
        jsonText,
      ),
    },
    75,
  ],
  [`POST ${requests}`, 'account', { key, json: jsonText }, 50],
  ...['comments', 'reviews'].map((path): (typeof endpoints)[number] => [
    ...([`POST ${requests}/ID/${path}`, 'account'] as const),
    { segment: accessRequest, key, json: fc.oneof(someEvent, jsonText) },
    100,
  ]),
  ...['events', 'reviews'].map((path): (typeof endpoints)[number] => [
    ...([`GET ${requests}/ID/${path}`, 'account'] as const),
    { segment: accessRequest, query: fc.oneof(encodedPairs, rawText.map(encodeURI)) },
    100,
  ]),
];

test.each(endpoints)(
  'whatever is sent, the answer is a documented one: %s as %s',
  async (endpoint, caller, input, numRuns) => {
    const [method = '', path = ''] = endpoint.split(' ');
    const body = input.form ?? input.json ?? fc.constant(undefined);
    const type = usually(input.form ? 'application/x-www-form-urlencoded' : 'application/json');
    const nothing = fc.constant('');
    const sent = fc.tuple(
      input.segment ?? nothing,
      input.query ?? nothing,
      body,
      type,
      input.key ?? fc.constant(null),
    );
    const asked = await callers[caller]?.();
    await fc.assert(
      fc.asyncProperty(sent, async ([segment, query, text, contentType, idempotencyKey]) => {
        const headers = {
          ...asked,
          ...(text !== undefined && { 'content-type': contentType }),
          ...(idempotencyKey !== null && { 'idempotency-key': idempotencyKey }),
        };
        const bytes = text === undefined ? {} : { body: new TextEncoder().encode(text) };
        const url = `${path.replace('ID', segment)}${query && `?${query}`}`;
        expectAnswered(await call(url, { method, headers, ...bytes }));
      }),
      { numRuns },
    );
  },
);

test(`GET ${devices}, with any token`, async () => {
  await fc.assert(
    fc.asyncProperty(headerText, async (token) => {
      const answer = await call(devices, { headers: { authentication: `Bearer ${token}` } });
      expectError(answer, { status: 401, error: 'invalid_token' });
    }),
    { numRuns: 50 },
  );
});
