import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { expectAnswer, expectError } from '../support/expectations.ts';
import { createClient } from '../support/login-app.ts';
import { newPhone } from '../support/people.ts';
import { type Answer, asClient, sharedService, unique } from '../support/service.ts';

const service = sharedService();
const { login_app, other_login_app } = service.demo;

const post = (action: string, form: Record<string, string>, client = login_app): Promise<Answer> =>
  service.form(`/v2/marketing/oauth/${action}`, form, asClient(client));
const { introspect, refresh, revoke } = service;

/** A session of alice's, and whether it goes on as she notices it. */
async function logIn(subject = unique('alice')) {
  const { body } = await service.logIn(subject);
  const id = await newPhone(service);
  return { ...body, relate: async () => (await service.relate(id, body.access_token)).status };
}

const inactive = { status: 200, text: '{"active":false}' };

describe('POST /v2/marketing/oauth/revoke', () => {
  test.each(['refresh_token', 'access_token'])(
    'a session ends with its %s, alone, at once',
    async (kind) => {
      const subject = unique('alice');
      const [phone, tablet] = await Promise.all([logIn(subject), logIn(subject)]);
      expect(await phone.relate()).toBe(200);
      expect(await revoke(phone[kind])).toMatchObject({ status: 200, text: '{}' });
      expect(await phone.relate()).toBe(401);
      expect((await refresh(phone.refresh_token)).body.error).toBe('invalid_grant');
      expect(await tablet.relate()).toBe(200);
      expect((await refresh(tablet.refresh_token)).status).toBe(200);
    },
  );

  test('a superseded refresh token ends its session too', async () => {
    const session = await logIn();
    await refresh(session.refresh_token);
    expect((await revoke(session.refresh_token)).status).toBe(200);
    expect(await session.relate()).toBe(401);
  });

  test('unknown token: 200; a second time: 200', async () => {
    const { refresh_token } = await logIn();
    for (const token of ['unknown', refresh_token, refresh_token])
      expect((await revoke(token)).status).toBe(200);
  });

  test('the token hint is not needed, and no harm when wrong', async () => {
    const session = await logIn();
    const answer = await post('revoke', {
      token: session.refresh_token,
      token_type_hint: 'access_token',
    });
    expect(answer.status).toBe(200);
    expect(await session.relate()).toBe(401);
  });

  test('a Login App Token cannot be revoked here: 400 unsupported_token_type', async () => {
    const { status, body } = await revoke(await service.loginAppToken());
    expect([status, body.error]).toEqual([400, 'unsupported_token_type']);
  });

  test("another client's Login App Token: 400 invalid_request, whichever kind", async () => {
    const sibling = await createClient(service, login_app.login_app_id);
    const flags = { 'login-app': other_login_app.login_app_id, name: 'Phones' };
    const longLived = await service.operate('login-apps', 'tokens create', flags);
    const tokens = [
      await service.loginAppToken(sibling),
      await service.loginAppToken(other_login_app),
      String(longLived.login_app_token),
    ];
    const naming = 'The token was issued to another client.';
    for (const token of tokens)
      expectError(await revoke(token), { status: 400, error: 'invalid_request', naming });
  });
});

describe('POST /v2/marketing/oauth/introspect', () => {
  test('an active access token: its claims', async () => {
    const { access_token } = await logIn();
    const described = { active: true, token_type: 'bearer', ...decodeJwt(access_token) };
    expectAnswer(await introspect(access_token), 200, described);
  });

  test('an active refresh token: whose it is', async () => {
    const { access_token, refresh_token } = await logIn();
    const { sub, sid, aud, iss, auth_time } = decodeJwt(access_token);
    const about = { client_id: login_app.client_id, sub, sid, aud, iss, auth_time };
    const described = { active: true, token_type: 'refresh_token', ...about };
    expectAnswer(await introspect(refresh_token), 200, described);
  });

  test('a Login App Token is active for its Login App', async () => {
    const { client_id } = login_app;
    const described = { active: true, token_use: 'login_app', scope: 'login_app', client_id };
    expect((await introspect(await service.loginAppToken())).body).toMatchObject(described);
  });

  test('whatever is not active: {"active": false} and nothing else', async () => {
    const ended = await logIn();
    await revoke(ended.refresh_token);
    const outdated = await logIn();
    await refresh((await refresh(outdated.refresh_token)).body.refresh_token);
    const blocked = await logIn();
    await service.operate('login-users', 'block', {
      'login-user': decodeJwt(blocked.access_token).sub,
    });
    const both = [ended, blocked].flatMap(({ access_token, refresh_token }) => [
      access_token,
      refresh_token,
    ]);
    for (const token of [...both, outdated.refresh_token, 'unknown', `${outdated.access_token}x`])
      expect(await introspect(token)).toMatchObject(inactive);
    // Asking about an outdated refresh token does not end its session.
    expect(await outdated.relate()).toBe(200);
  });
});

test.each(['revoke', 'introspect'])(
  '%s without a token: 400; with a wrong secret: 401',
  async (action) => {
    const naming = 'The parameter token is required.';
    const required = { status: 400, error: 'invalid_request', naming };
    for (const form of [{}, { token: '' }]) expectError(await post(action, form), required);
    const client = { ...login_app, client_secret: 'wrong' };
    expectError(await post(action, { token: 'x' }, client), {
      status: 401,
      error: 'invalid_client',
    });
  },
);
