import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader, type JWTPayload } from 'jose';
import { parametersOf } from '../../lib/providers/parameters.ts';
import { providerIds } from '../../lib/providers/provider-ids.ts';
import { expectAnswer, expectError, tokenResponse } from '../support/expectations.ts';
import { createClient } from '../support/login-app.ts';
import { type Answer, sharedService, unique } from '../support/service.ts';

const service = sharedService();
const { demo, logIn, loginForm, token } = service;

const claimsOf = ({ body }: Answer): JWTPayload => decodeJwt(body.access_token);

describe('the Login User of a token', () => {
  test.each(providerIds)('%s: one for a subject, with sessions of their own', async (provider) => {
    const subject = unique('alice');
    const first = claimsOf(await logIn(subject, provider));
    const second = claimsOf(await logIn(subject, provider));
    expect(first.sub).toMatch(/^lu_/);
    expect(second.sub).toBe(first.sub);
    expect(second.sid).not.toBe(first.sid);
    expect(second.jti).not.toBe(first.jti);
    expect(claimsOf(await logIn(unique('bob'), provider)).sub).not.toBe(first.sub);
  });

  test('an authorization code and an access token of provider_b lead to the same Login User', async () => {
    const subject = unique('alice');
    const byCode = await token(
      await loginForm('provider_b', { subject }, 'provider_authorization_code'),
    );
    expect(claimsOf(byCode).sub).toBe(claimsOf(await logIn(subject, 'provider_b')).sub);
  });

  test('the same subject of two providers is two Login Users', async () => {
    const subject = unique('alice');
    const [a, f] = await Promise.all([logIn(subject, 'provider_a'), logIn(subject, 'provider_f')]);
    expect(claimsOf(a).sub).not.toBe(claimsOf(f).sub);
  });

  test('two clients of a Login App share its Login Users', async () => {
    const subject = unique('alice');
    const client = await createClient(service, demo.login_app.login_app_id);
    const one = claimsOf(await logIn(subject));
    const other = claimsOf(await logIn(subject, 'provider_f', client));
    expect(other.sub).toBe(one.sub);
    expect([one.client_id, other.client_id]).toEqual([demo.login_app.client_id, client.client_id]);
  });

  test('eight first logins at once: the same Login User, eight sessions', async () => {
    const subject = unique('alice');
    const answers = await Promise.all(Array.from({ length: 8 }, () => logIn(subject)));
    for (const answer of answers) expectAnswer(answer, 200, tokenResponse);
    const claims = answers.map(claimsOf);
    expect(new Set(claims.map(({ sub }) => sub)).size).toBe(1);
    expect(new Set(claims.map(({ sid }) => sid)).size).toBe(8);
    expect(new Set(claims.map(({ jti }) => jti)).size).toBe(8);
    expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(8);
  });
});

describe('the access token', () => {
  const header = { alg: 'RS256', typ: 'at+jwt', kid: expect.stringMatching(/./) };
  const ofEach = {
    iss: demo.base_url,
    aud: demo.login_app.login_app_id,
    client_id: demo.login_app.client_id,
    jti: expect.stringMatching(/^at_[\w-]{22}$/),
    iat: expect.any(Number),
    exp: expect.any(Number),
  };

  /** `exp` and `iat` agree with `expires_in`, and with the clock. */
  function expectTimes(
    { iat = 0, exp = 0 }: JWTPayload,
    { expires_in }: { expires_in: number },
  ): void {
    expect(exp - iat).toBe(expires_in);
    expect(Math.abs(iat - Date.now() / 1000)).toBeLessThan(60);
  }

  test('a Login User Token is a JWT by RFC 9068, with exactly the documented claims', async () => {
    const { body } = await logIn(unique('alice'));
    expect(decodeProtectedHeader(body.access_token)).toEqual(header);
    const claims = decodeJwt(body.access_token);
    expect(claims).toEqual({
      ...ofEach,
      sub: expect.stringMatching(/^lu_[\w-]{43}$/),
      sid: expect.stringMatching(/^s_[\w-]{22}$/),
      auth_time: expect.any(Number),
      token_use: 'login_user',
      scope: 'login_user',
    });
    expectTimes(claims, body);
  });

  test('a Login App Token is one too; its subject is the client', async () => {
    const { body } = await token({ grant_type: 'client_credentials' });
    expect(decodeProtectedHeader(body.access_token)).toEqual(header);
    const claims = decodeJwt(body.access_token);
    const sub = demo.login_app.client_id;
    expect(claims).toEqual({ ...ofEach, sub, token_use: 'login_app', scope: 'login_app' });
    expectTimes(claims, body);
  });
});

const invalidGrant = {
  status: 400,
  error: 'invalid_grant',
  naming: 'The provider does not accept this credential for this Login App.',
};

type CredentialField = {
  provider: string;
  name: string;
  grant?: string;
  query?: Record<string, string>;
};
const credentialFields: CredentialField[] = [
  ...providerIds.flatMap((provider) =>
    parametersOf(provider).required.map((name) => ({ provider, name })),
  ),
  // An id token with at_hash: one without it says nothing of the access token.
  { provider: 'provider_f', name: 'access_token', query: { with_access_token: 'true' } },
  { provider: 'provider_b', name: 'authorization_code', grant: 'provider_authorization_code' },
];
/** What no provider is asked about, for whichever field. */
const malformed: [string, string][] = [
  ['20 kB of garbage', 'x'.repeat(20_000)],
  ['CR LF and a header', 'abc\r\nx-evil: 1'],
  ['20 kB of dots', '.'.repeat(20_000)],
  ['a line feed', 'abc\n'],
  ['a carriage return', '\rabc'],
  ['a NUL', 'abc\0'],
  ['a space', 'abc def'],
  ['only a space', ' '],
  ['letters that are not ASCII', 'жетон'],
  ['an emoji', '🔑'],
  ['bytes that are not UTF-8', '\ufffd\ufffd'],
];

describe.each(credentialFields)('$provider, $name', ({ provider, name, grant, query }) => {
  let form: Record<string, string>;
  beforeAll(async () => {
    form = await loginForm(provider, query, grant);
    expect(form[name]).toEqual(expect.any(String));
  });

  test.each([
    ...(provider === 'provider_a' ? malformed : malformed.slice(0, 2)),
    ['16 kB of garbage', 'x'.repeat(16_384)],
    ['__proto__', '__proto__'],
    ['constructor', 'constructor'],
    ['a path', '../../etc/passwd'],
    ['a query', 'a&client_id=b?c=d#e'],
    ['quotes', `'"; DROP TABLE users; --`],
    ['null', 'null'],
  ])('%s: 400 invalid_grant', async (_, value = '') => {
    expectError(await token({ ...form, [name]: value }), invalidGrant);
  });

  test('a credential with one character changed: 400 invalid_grant', async () => {
    const form = await loginForm(provider, query, grant);
    const value = form[name] ?? '';
    const middle = Math.floor(value.length / 2);
    const changed =
      value.slice(0, middle) + (value[middle] === 'a' ? 'b' : 'a') + value.slice(middle + 1);
    expectError(await token({ ...form, [name]: changed }), invalidGrant);
    expectError(await token({ ...form, [name]: value.slice(0, -1) }), invalidGrant);
    expectAnswer(await token(form), 200, tokenResponse);
  });
});
