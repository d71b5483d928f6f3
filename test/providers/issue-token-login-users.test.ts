import { describe, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader, type JWTPayload } from 'jose';
import { providerIds } from '../../lib/providers/provider-ids.ts';
import { expectAnswer, tokenResponse } from '../support/expectations.ts';
import { createClient } from '../support/login-app.ts';
import { type Answer, sharedService, unique } from '../support/service.ts';

const service = sharedService();
const { demo, logIn, loginForm, token } = service;

const claimsOf = ({ body }: Answer): JWTPayload => decodeJwt(body.access_token);

describe('the Login User of a token', () => {
  test.each(providerIds)(
    '%s: the same subject is always the same Login User, in a session of its own',
    async (provider) => {
      const subject = unique('alice');
      const first = claimsOf(await logIn(subject, provider));
      const second = claimsOf(await logIn(subject, provider));
      expect(first.sub).toMatch(/^lu_/);
      expect(second.sub).toBe(first.sub);
      expect(second.sid).not.toBe(first.sid);
      expect(second.jti).not.toBe(first.jti);
      expect(claimsOf(await logIn(unique('bob'), provider)).sub).not.toBe(first.sub);
    },
  );

  test('an authorization code and an access token of provider_b lead to the same Login User', async () => {
    const subject = unique('alice');
    const byCode = await token(await loginForm('provider_b', { subject }, 'provider_authorization_code'));
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
    const [one, other] = [
      claimsOf(await logIn(subject)),
      claimsOf(await logIn(subject, 'provider_f', client)),
    ];
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
  const times = { iat: expect.any(Number), exp: expect.any(Number) };

  /** `exp` and `iat` agree with `expires_in`, and with the clock. */
  function expectTimes({ iat = 0, exp = 0 }: JWTPayload, { expires_in }: { expires_in: number }): void {
    expect(exp - iat).toBe(expires_in);
    expect(Math.abs(iat - Date.now() / 1000)).toBeLessThan(60);
  }

  test('a Login User Token is a JWT by RFC 9068, with exactly the documented claims', async () => {
    const { body } = await logIn(unique('alice'));
    expect(decodeProtectedHeader(body.access_token)).toEqual(header);
    const claims = decodeJwt(body.access_token);
    expect(claims).toEqual({
      iss: demo.base_url,
      aud: demo.login_app.login_app_id,
      sub: expect.stringMatching(/^lu_[\w-]{43}$/),
      client_id: demo.login_app.client_id,
      sid: expect.stringMatching(/^s_[\w-]{22}$/),
      auth_time: expect.any(Number),
      jti: expect.stringMatching(/^at_[\w-]{22}$/),
      token_use: 'login_user',
      scope: 'login_user',
      ...times,
    });
    expectTimes(claims, body);
  });

  test('a Login App Token is one too; its subject is the client', async () => {
    const { body } = await token({ grant_type: 'client_credentials' });
    expect(decodeProtectedHeader(body.access_token)).toEqual(header);
    const claims = decodeJwt(body.access_token);
    expect(claims).toEqual({
      iss: demo.base_url,
      aud: demo.login_app.login_app_id,
      sub: demo.login_app.client_id,
      client_id: demo.login_app.client_id,
      jti: expect.stringMatching(/^at_[\w-]{22}$/),
      token_use: 'login_app',
      scope: 'login_app',
      ...times,
    });
    expectTimes(claims, body);
  });

  test("says nothing about the provider's subject", async () => {
    const subject = unique('alice');
    const { body } = await logIn(subject);
    const told = JSON.stringify([decodeJwt(body.access_token), body.refresh_token]);
    expect(told).not.toContain(subject);
  });
});
