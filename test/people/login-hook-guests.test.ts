import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { expectError } from '../support/expectations.ts';
import { createLoginApp } from '../support/login-app.ts';
import { ownService, scratchFolder } from '../support/own-service.ts';
import { accountOf } from '../support/people.ts';
import { unique } from '../support/service.ts';

const folder = scratchFolder();
const hook = join(folder, 'hook.mjs');
const seen = join(folder, 'events');
const answer = join(folder, 'answer');
const hookAnswers = (given: unknown): void => writeFileSync(answer, JSON.stringify(given));
writeFileSync(
  hook,
  `import { appendFileSync, readFileSync } from 'node:fs';
  export const handler = async (event) => {
    appendFileSync(${JSON.stringify(seen)}, JSON.stringify(event) + ',');
    return JSON.parse(readFileSync(${JSON.stringify(answer)}, 'utf8'));
  };`,
);
const { running, service } = await ownService({ LOGIN_HOOK: hook }, { movableClock: true });
afterEach(() => running.resetClock());

/** Everything that the hook was told. */
const told = (): Record<string, unknown>[] =>
  JSON.parse(`[${readFileSync(seen, 'utf8').slice(0, -1)}]`);

const begin = () => service.token({ grant_type: 'guest' });

test('a guest is asked about without an identity: at the beginning, a refresh and the first link', async () => {
  hookAnswers({ claims: { level: 1 } });
  const answer = await begin();
  const { sub, sid, level } = decodeJwt(answer.body.access_token);
  expect(level).toBe(1);
  const refreshed = await service.refresh(answer.body.refresh_token);
  const account = accountOf(service, answer.body.access_token);
  const subject = unique('alice');
  expect((await account.linkAt('provider_f', subject)).status).toBe(201);
  await service.refresh(refreshed.body.refresh_token);
  const { client_id, login_app_id } = service.demo.login_app;
  const about = { version: 1, login_app_id, login_user_id: sub, client_id, claims: {} };
  const ofGuest = { ...about, guest: true, first_login: false, previous_claims: {} };
  const identity = { issuer: expect.stringMatching(/^http/), subject };
  expect(told().filter(({ login_user_id }) => login_user_id === sub)).toEqual([
    { ...ofGuest, event: 'login', first_login: true },
    { ...ofGuest, event: 'refresh', session_id: sid, previous_claims: { level: 1 } },
    {
      ...ofGuest,
      event: 'link',
      session_id: sid,
      provider: 'provider_f',
      identity,
      profile: expect.anything(),
    },
    {
      ...about,
      event: 'refresh',
      first_login: false,
      session_id: sid,
      previous_claims: { level: 1 },
    },
  ]);
});

test('a guest who is refused leaves nothing', async () => {
  hookAnswers({ deny: true });
  expectError(await begin(), {
    status: 400,
    error: 'invalid_grant',
    naming: 'The login was refused.',
  });
  const [last] = told().slice(-1);
  await expect(
    service.operate('login-users', 'show', { 'login-user': last?.login_user_id }),
  ).rejects.toThrow('no such Login User');
});

test('a guest is not begun while the hook gives no usable answer', async () => {
  hookAnswers('no answer');
  expect((await begin()).status).toBe(500);
});

test.each([false, 'no', null])(
  'a guest is one in the token and the introspection, though the hook says guest: %j',
  async (guest) => {
    hookAnswers({ claims: { guest } });
    const { access_token } = (await begin()).body;
    expect(decodeJwt(access_token).guest).toBe(true);
    expect((await service.introspect(access_token)).body.guest).toBe(true);
  },
);

test('a person whom the hook calls a guest is none, where the Login App lets in guests', async () => {
  const app = await createLoginApp(service, unique('app'), { providers: ['provider_f'] });
  const subject = unique('alice');
  const logIn = async () => (await service.logIn(subject, 'provider_f', app)).body.access_token;
  const introspected = async (token: string) => (await service.introspect(token, app)).body;
  const claims = { guest: true, level: 2 };
  hookAnswers({ claims });
  // An answer of 1.1 stays valid, and is in the token, until the Login App lets in guests.
  const before = await logIn();
  expect(decodeJwt(before)).toMatchObject(claims);
  expect(await introspected(before)).toMatchObject(claims);
  const flags = { 'login-app': app.login_app_id, days: 7 };
  await service.operate('login-apps', 'set-guests', flags);
  running.advance(31);
  const after = await logIn();
  for (const claimsTold of [decodeJwt(after), await introspected(after)]) {
    expect(claimsTold.level).toBe(2);
    expect(claimsTold).not.toHaveProperty('guest');
  }
  expect(await introspected(before)).not.toHaveProperty('guest');
});
