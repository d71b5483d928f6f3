import { describe, expect, test } from '@jest/globals';
import { expectError } from '../support/expectations.ts';
import { basic, sharedService } from '../support/service.ts';

const service = sharedService();
const { call, demo } = service;
const { client_id, client_secret } = demo.login_app;
const invalidClient = { status: 401, error: 'invalid_client' };

const notUtf8 = Buffer.from([0xff, 0xfe]);
const base64 = (bytes: string | Buffer): string => Buffer.from(bytes).toString('base64');
const percentEncoded = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');

const withAuthorization = (
  authorization: string | undefined,
  form = 'grant_type=client_credentials',
) => {
  const headers = authorization === undefined ? {} : { authorization };
  return service.form('/v2/marketing/oauth/token', [...new URLSearchParams(form)], headers);
};

describe('Login App Client authentication', () => {
  test.each([
    ['as it is', basic(client_id, client_secret)],
    ['form-encoded', basic(percentEncoded(client_id), percentEncoded(client_secret))],
    ['with the scheme in lower case', basic(client_id, client_secret).replace('Basic', 'basic')],
    ['with more than one space', basic(client_id, client_secret).replace(' ', '   ')],
  ])('a client id and client secret %s: 200', async (_, authorization) => {
    expect((await withAuthorization(authorization)).status).toBe(200);
  });

  test.each([
    ['missing', undefined],
    ['empty', ''],
    ['of another scheme', 'Bearer abc'],
    ['without credentials', 'Basic'],
    ['without credentials after a space', 'Basic '],
    ['not base64', 'Basic §§§'],
    ['in base64 for URLs', `Basic ${base64(`${client_id}:${client_secret}`).replace(/=*$/, '-_')}`],
    ['without a colon', `Basic ${base64(client_id)}`],
    ['without a client id', `Basic ${base64(`:${client_secret}`)}`],
    ['without a client secret', `Basic ${base64(`${client_id}:`)}`],
    ['of nothing but a colon', `Basic ${base64(':')}`],
    ['with a broken percent encoding', `Basic ${base64(`${client_id}:%zz`)}`],
    ['not UTF-8', `Basic ${base64(Buffer.concat([Buffer.from(`${client_id}:`), notUtf8]))}`],
    [
      'two headers in one',
      `${basic(client_id, client_secret)}, ${basic(client_id, client_secret)}`,
    ],
    ['8 kB long', `Basic ${base64(`${client_id}:${'x'.repeat(6_000)}`)}`],
  ])('an Authorization header that is %s: 401', async (_, authorization) => {
    const answer = await withAuthorization(
      authorization && Buffer.from(authorization).toString('latin1'),
    );
    expectError(answer, invalidClient);
  });

  test.each([
    ['a wrong client secret', client_id, `${client_secret}x`],
    ['a client secret cut short', client_id, client_secret.slice(0, -1)],
    ['a client secret in another case', client_id, client_secret.toUpperCase()],
    ["another client's secret", client_id, demo.other_login_app.client_secret],
    ['an unknown client', `${demo.login_app.login_app_id}.c_AAAAAAAAAAAAAAAAAAAAAA`, client_secret],
    ['a client of an unknown Login App', client_id.replace(/^la_./, 'la_~'), client_secret],
    [
      'one of a Login App that does not exist',
      `la_${'A'.repeat(22)}.c_${'A'.repeat(22)}`,
      client_secret,
    ],
    ['the Login App id alone', demo.login_app.login_app_id, client_secret],
    ['an account', demo.account.account_id, demo.account.account_secret],
    ['the client id __proto__', '__proto__', client_secret],
    ['the client secret __proto__', client_id, '__proto__'],
    ['the client id constructor', 'constructor', 'constructor'],
    ['the client id ..', '..', client_secret],
    ['a client id with a line break', `${client_id}\n`, client_secret],
    ['a client secret that is not ASCII', client_id, 'ключ'],
  ])('%s: 401', async (_, user, password) => {
    const naming = /^The client id and the client secret do not match\./;
    expectError(await withAuthorization(basic(user, password)), { ...invalidClient, naming });
  });

  test("an account's credentials: the answer names the form of a client id", async () => {
    const { account_id, account_secret } = demo.account;
    const naming = /do not match\. The client id has the form la_\*\.c_\*\.$/;
    expectError(await withAuthorization(basic(account_id, account_secret)), {
      ...invalidClient,
      naming,
    });
  });

  test('a client id and client secret in the form alone: 401', async () => {
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id,
      client_secret,
    });
    const naming =
      'Send the client id and the client secret with HTTP Basic authentication, or a client assertion. A client secret in the form is not accepted.';
    expectError(await withAuthorization(undefined, form.toString()), { ...invalidClient, naming });
  });

  test('the client comes first: a wrong client with a wrong request is a 401', async () => {
    expectError(await withAuthorization(basic(client_id, 'wrong'), 'grant_type=x'), invalidClient);
    expectError(await withAuthorization(undefined, ''), invalidClient);
  });

  test.each([{}, { authorization: basic(client_id, client_secret) }])(
    'a body that is no form comes before everything else: 400',
    async (more) => {
      const headers = { 'content-type': 'application/json', ...more };
      const body = JSON.stringify({ client_id, grant_type: 'client_credentials' });
      const naming = 'The content type must be application/x-www-form-urlencoded.';
      for (const endpoint of ['token', 'revoke', 'nonce', 'introspect']) {
        const answer = await call(`/v2/marketing/oauth/${endpoint}`, {
          method: 'POST',
          headers,
          body,
        });
        expectError(answer, { status: 400, error: 'invalid_request', naming });
      }
    },
  );

  test('every answer has a request id of its own', async () => {
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => withAuthorization(undefined)),
    );
    expect(new Set(answers.map(({ headers }) => headers.get('x-request-id'))).size).toBe(5);
  });
});
