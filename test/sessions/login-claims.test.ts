import { afterEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { expectAnswer, expectError } from '../support/expectations.ts';
import { ownService } from '../support/own-service.ts';
import { accountOf, newPhone, subOf } from '../support/people.ts';
import { type Service, sharedService, unique } from '../support/service.ts';

const service = sharedService();
const day = 86_400;
const { running, service: strict } = await ownService(
  {
    STEP_UP_ACR_VALUES: 'loa3 loa4',
    RECENT_LOGIN_SECONDS: '0',
    SESSION_IDLE_SECONDS: String(2 * day),
    SESSION_ABSOLUTE_SECONDS: String(3 * day),
  },
  { movableClock: true },
);

afterEach(() => running.resetClock());

/** A login of which the id token says this. */
async function logIn(claims: object, { at = service, subject = unique('alice') } = {}) {
  const form = await at.loginForm('provider_f', { subject, claims: JSON.stringify(claims) });
  const answer = await at.token(form);
  expect(answer.status).toBe(200);
  return answer;
}

/** What a token and its introspection say about the login. */
async function toldOf(token: string) {
  const { acr, amr } = decodeJwt(token);
  const { body } = await service.introspect(token);
  expect({ acr: body.acr, amr: body.amr }).toEqual({ acr, amr });
  return { acr, amr };
}

describe('acr and amr, where the settings of the issuer name them', () => {
  test('are in the access token, its introspection and that of the refresh token, and stay so after refreshes', async () => {
    const login = { acr: 'loa2', amr: ['pwd', 'otp'] };
    const { body } = await logIn(login);
    expect(await toldOf(body.access_token)).toEqual(login);
    const refreshed = (await service.refresh(body.refresh_token)).body;
    expect(await toldOf(refreshed.access_token)).toEqual(login);
    expect((await service.introspect(refreshed.refresh_token)).body).toMatchObject(login);
  });

  test('are those of the session: another login of the person changes nothing in it', async () => {
    const subject = unique('alice');
    const first = await logIn({ acr: 'loa3' }, { subject });
    const second = await logIn({}, { subject });
    expect(subOf(second)).toBe(subOf(first));
    const refreshed = (await service.refresh(first.body.refresh_token)).body;
    expect(await toldOf(refreshed.access_token)).toEqual({ acr: 'loa3' });
    expect(await toldOf(second.body.access_token)).toEqual({});
  });

  test.each([
    ['acr', 3],
    ['acr', ['loa2']],
    ['acr', 'x'.repeat(256)],
    ['amr', ''],
    ['amr', { pwd: true }],
    ['amr', ['pwd', 1]],
    ['amr', Array.from({ length: 21 }, (_, index) => `method-${index}`)],
  ])('an %s of another form is left out: %j', async (name, value) => {
    const { body } = await logIn({ acr: 'loa2', amr: ['pwd'], [name]: value });
    expect(await toldOf(body.access_token)).toEqual({
      acr: 'loa2',
      amr: ['pwd'],
      [name]: undefined,
    });
  });

  test('an amr that is one text is a list of one method', async () => {
    const { body } = await logIn({ acr: 'loa2', amr: 'pwd' });
    expect(await toldOf(body.access_token)).toEqual({ acr: 'loa2', amr: ['pwd'] });
  });

  test('are in no token where the settings do not name them, or of a provider that issues no id token', async () => {
    const claims = JSON.stringify({ acr: 'loa2', amr: ['pwd'] });
    const { body } = await service.token(await service.loginForm('provider_a', { claims }));
    expect(await toldOf(body.access_token)).toEqual({});
    const code = await service.loginForm('provider_b', { claims }, 'provider_authorization_code');
    expect(await toldOf((await service.token(code)).body.access_token)).toEqual({});
  });

  test('other claims of the id token, such as those of our own tokens, never reach ours', async () => {
    const others = { sid: 's_theirs', scope: 'admin', roles: ['admin'], nonce: 'n' };
    const { body } = await logIn({ acr: 'loa2', ...others });
    const claims = decodeJwt(body.access_token);
    expect(claims).toMatchObject({ acr: 'loa2', scope: 'login_user' });
    expect(claims.sid).not.toBe('s_theirs');
    expect(Object.keys(claims).toSorted()).toEqual(
      'acr aud auth_time client_id exp iat iss jti scope sid sub token_use'.split(' '),
    );
  });
});

describe('a deployment that demands acr values for linking, unlinking and deleting', () => {
  const at = strict;
  const accountAt = async (claims: object, subject: string) =>
    accountOf(at, (await logIn(claims, { at, subject })).body.access_token);
  const insufficient = {
    status: 401,
    error: 'insufficient_user_authentication',
    naming: /acr_values/,
  };

  test('401 names them; a login with one of them does all three', async () => {
    const subject = unique('alice');
    const other = unique('bob');
    const strong = await accountAt({ acr: 'loa4' }, subject);
    const { id } = (await strong.linkAt('provider_a', other)).body;
    for (const claims of [{}, { acr: 'loa2' }, { acr: 'loa3 loa4' }, { acr: 7 }]) {
      const weak = await accountAt(claims, subject);
      const answers = [
        await weak.linkAt('provider_a', other),
        await weak.unlink(id),
        await weak.remove(),
      ];
      for (const answer of answers) {
        expectError(answer, insufficient);
        expect(answer.headers.get('www-authenticate')).toMatch(/, acr_values="loa3 loa4"$/);
      }
    }
    expect((await (await accountAt({ acr: 'loa3' }, subject)).unlink(id)).status).toBe(204);
    expect((await strong.remove()).status).toBe(204);
  });

  test('where it demands no recent one, any login will do', async () => {
    const { body } = await logIn({ acr: 'loa4' }, { at });
    const account = accountOf(at, body.access_token);
    running.advance(3000);
    expect((await account.linkAt('provider_a', unique('bob'))).status).toBe(201);
    const appToken = await at.loginAppToken();
    for (let made = 0; made < 21; made += 1)
      expect((await at.relate(await newPhone(at, appToken), body.access_token)).status).toBe(200);
    expect((await account.remove()).status).toBe(204);
  });

  test('everything else goes on without', async () => {
    const account = await accountAt({}, unique('alice'));
    expect((await account.show()).status).toBe(200);
    expect((await account.endSessions()).status).toBe(204);
  });
});

describe('session_name', () => {
  const named = async (session_name: string, at: Service = service, grant?: string) =>
    at.token({
      ...(await at.loginForm(grant ? 'provider_b' : 'provider_f', {}, grant)),
      session_name,
    });

  const names = ['Ada’s iPad', 'x', '\u{1F4F1}'.repeat(64)];
  test.each(names)(
    'is shown to the person and to operators, and survives refreshes: %s',
    async (name) => {
      const { body } = await named(name);
      const refreshed = (await service.refresh(body.refresh_token)).body;
      const { sessions } = (await accountOf(service, refreshed.access_token).sessions()).body;
      expect(sessions).toMatchObject([{ name, current: true }]);
      const flags = { 'login-user': decodeJwt(body.access_token).sub };
      expect(await service.operate('sessions', 'list', flags)).toMatchObject({
        sessions: [{ name }],
      });
    },
  );

  test('is in no line of the log', async () => {
    const { body } = await named('Grace’s phone', strict);
    await strict.refresh(body.refresh_token);
    expect(running.output()).toContain('token_issued');
    expect(running.output() + running.audit()).not.toContain('Grace');
  });

  test('may come with an authorization code', async () => {
    const { body } = await named('Ada’s iPad', service, 'provider_authorization_code');
    const { sessions } = (await accountOf(service, body.access_token).sessions()).body;
    expect(sessions).toMatchObject([{ name: 'Ada’s iPad' }]);
  });

  test.each(['x'.repeat(65), 'Ada\n', 'Ada\u0007', '\u001b[31mAda'])('400 for %j', async (name) => {
    expectError(await named(name), {
      status: 400,
      error: 'invalid_request',
      naming: /session_name/,
    });
  });

  test('400 when it is repeated; an empty one is none', async () => {
    const form = Object.entries(await service.loginForm('provider_f'));
    const repeated = await service.token([...form, ['session_name', 'a'], ['session_name', 'b']]);
    expectError(repeated, {
      status: 400,
      error: 'invalid_request',
      naming: /session_name is repeated/,
    });
    const { body } = await named('');
    const { sessions } = (await accountOf(service, body.access_token).sessions()).body;
    expect(sessions[0]).not.toHaveProperty('name');
  });
});

test('refresh_token_expires_in: the seconds until the idle or the absolute end, whichever comes first', async () => {
  const at = strict;
  const first = await logIn({}, { at });
  expect(first.body.refresh_token_expires_in).toBe(2 * day);
  running.advance(1.5 * day);
  const second = await at.refresh(first.body.refresh_token);
  expect(second.body.refresh_token_expires_in).toBeLessThanOrEqual(1.5 * day);
  expect(second.body.refresh_token_expires_in).toBeGreaterThan(1.5 * day - 60);
  running.advance(second.body.refresh_token_expires_in + 1);
  expect((await at.refresh(second.body.refresh_token)).body.error).toBe('invalid_grant');
  const client = await at.token({ grant_type: 'client_credentials' });
  expectAnswer(
    client,
    200,
    expect.not.objectContaining({ refresh_token_expires_in: expect.anything() }),
  );
});
