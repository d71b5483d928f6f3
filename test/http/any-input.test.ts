import { beforeAll, describe, test } from '@jest/globals';
import fc from 'fast-check';
import {
  encodedPairs,
  expectDocumented,
  headerText,
  jsonText,
  rawText,
  someJson,
  somePairs,
  someValue,
  usually,
  usuallySegment,
} from '../support/any-input.ts';
import { expectRefusal } from '../support/expectations.ts';
import { basic, sharedService, unique } from '../support/service.ts';

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
  expectDocumented(await call(path, { method: 'POST', headers, body: new TextEncoder().encode(body) }));

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
      { numRuns: 100 },
    );
  });

  test.each(['token', 'revoke', 'introspect'])('POST /v2/marketing/oauth/%s', async (action) => {
    const nearlyRight = formWith(someToken.map((token) => [['token', token]]));
    await fc.assert(
      fc.asyncProperty(fc.oneof(encodedPairs, nearlyRight, rawText), form, (body, type) =>
        post(`/v2/marketing/oauth/${action}`, { authorization: client, 'content-type': type }, body),
      ),
      { numRuns: 150 },
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

  const ofPerson = '/v2/marketing/login/user/push_notifications/devices';
  const newUserToken = async () => (await logIn(unique('alice'))).body.access_token;

  test(`POST ${ofPerson}`, async () => {
    const authentication = `Bearer ${await newUserToken()}`;
    await fc.assert(
      fc.asyncProperty(jsonText, usually('application/json'), (body, type) =>
        post(ofPerson, { authentication, 'content-type': type }, body),
      ),
      { numRuns: 300 },
    );
  });

  test(`GET ${ofPerson}`, async () => {
    const authentication = `Bearer ${await newUserToken()}`;
    await fc.assert(
      fc.asyncProperty(encodedPairs, async (query) =>
        expectDocumented(await call(`${ofPerson}?${query}`, { headers: { authentication } })),
      ),
      { numRuns: 50 },
    );
  });

  test(`GET ${ofPerson}, with any token`, async () => {
    await fc.assert(
      fc.asyncProperty(headerText, async (token) => {
        const answer = await call(ofPerson, { headers: { authentication: `Bearer ${token}` } });
        expectRefusal(answer, { status: 401, error: 'invalid_token' });
      }),
      { numRuns: 100 },
    );
  });

  test(`DELETE ${ofPerson}/{device_id}`, async () => {
    const authentication = `Bearer ${await newUserToken()}`;
    const someId = usuallySegment(`d_${'A'.repeat(43)}`);
    await fc.assert(
      fc.asyncProperty(someId, async (id) =>
        expectDocumented(await call(`${ofPerson}/${id}`, { method: 'DELETE', headers: { authentication } })),
      ),
      { numRuns: 150 },
    );
  });

  test('POST /v1/rbac/access_requests', async () => {
    await fc.assert(
      fc.asyncProperty(fc.option(headerText), jsonText, usually('application/json'), (key, body, type) => {
        const keyed = key === null ? {} : { 'idempotency-key': key };
        const headers = { authorization: account, 'content-type': type, ...keyed };
        return post('/v1/rbac/access_requests', headers, body);
      }),
      { numRuns: 100 },
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
      { numRuns: 200 },
    );
  });

  test.each(['events', 'reviews'])('GET /v1/rbac/access_requests/{access_request_id}/%s', async (path) => {
    const someId = usuallySegment(String(demo.access_request_id));
    const someQuery = fc.oneof(encodedPairs, rawText.map(encodeURI));
    await fc.assert(
      fc.asyncProperty(someId, someQuery, async (id, query) => {
        const url = `/v1/rbac/access_requests/${id}/${path}?${query}`;
        expectDocumented(await call(url, { headers: { authorization: account } }));
      }),
      { numRuns: 200 },
    );
  });
});
