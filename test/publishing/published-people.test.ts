import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { newGuest } from '../support/guests.ts';
import { newIssuerLogin } from '../support/issuer-login.ts';
import { createLoginApp } from '../support/login-app.ts';
import { merge } from '../support/merges.ts';
import { scratchFolder } from '../support/own-service.ts';
import { accountOf, identityIdsOf, newPerson, newPersonWithPhone } from '../support/people.ts';
import { newGrants, newKeeper } from '../support/provider-access.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { type Answer, unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import { byId } from '../support/token-exchange.ts';
import { watchPublishing } from '../support/watch-publishing.ts';

const folder = scratchFolder();
const hook = join(folder, 'hook.mjs');
/** While it is there, the hook refuses everything. */
const refusal = join(folder, 'refusal');
writeFileSync(
  hook,
  `import { existsSync } from 'node:fs';
  export const handler = async () => ({ deny: existsSync(${JSON.stringify(refusal)}) });`,
);
const own = await startServiceWithStore(
  { MAX_SESSIONS: '3', LOGIN_HOOK: hook },
  { movableClock: true },
);
const { running, service } = own;
const { bus, during, publishedDuring } = await watchPublishing(own);
const { demo, operate } = service;
const standIn = await startProviderStandIn();

const login_app_id = demo.login_app.login_app_id;

/** A person with a phone that is linked to them. */
const newOwner = () => newPersonWithPhone(service);
type Owner = Awaited<ReturnType<typeof newOwner>>;

test('a first login: login_user.created and login_user.logged_in; a second one: logged_in alone', async () => {
  const subject = unique('anna');
  const { published: first, result: person } = await during(() => newPerson(service, subject));
  const user = { login_user_id: person.loginUserId, login_app_id, provider: 'provider_f' };
  const loggedIn = { event: 'login_user.logged_in', ...user, logged_in_at: 'TIME' };
  expect(first).toEqual([
    { event: 'login_user.created', ...user, created_at: 'TIME' },
    { ...loggedIn, session_id: person.sessionId },
  ]);
  const second = await during(() => newPerson(service, subject));
  expect(second.published).toEqual([{ ...loggedIn, session_id: second.result.sessionId }]);
});

test('a guest: created and logged_in, with the mark and without a provider; the first link: promoted, once', async () => {
  const { published, result: guest } = await during(() => newGuest(service));
  const user = { login_user_id: guest.loginUserId, login_app_id };
  const { sessionId: session_id } = guest;
  expect(published).toEqual([
    { event: 'login_user.created', ...user, guest: true, created_at: 'TIME' },
    { event: 'login_user.logged_in', ...user, guest: true, session_id, logged_in_at: 'TIME' },
  ]);
  expect(await publishedDuring(() => service.refresh(guest.refreshToken))).toEqual([]);

  const subject = unique('anna');
  const link = () => guest.account.linkAt('provider_a', subject);
  const identity_id = expect.any(String);
  const { login_user_id } = user;
  expect(await publishedDuring(link)).toEqual([
    { event: 'identity.linked', login_user_id, identity_id },
    { event: 'login_user.promoted', ...user },
  ]);
  expect(await publishedDuring(link)).toEqual([]);
  const more = await publishedDuring(() => guest.account.linkAt('provider_a', unique('more')));
  expect(more.map(({ event }) => event)).toEqual(['identity.linked']);
  const logIn = () => service.logIn(subject, 'provider_a');
  const [login] = await publishedDuring(logIn);
  expect(login).toMatchObject({ event: 'login_user.logged_in', provider: 'provider_a' });
  expect(login).not.toHaveProperty('guest');
});

test('a guest whose session is over: login_user.deleted alone', async () => {
  const guest = await newGuest(service);
  running.advance(31 * 86_400);
  const sweep = () => service.runSchedule();
  const ofGuest = (await publishedDuring(sweep)).filter(
    ({ login_user_id }) => login_user_id === guest.loginUserId,
  );
  expect(ofGuest.map(({ event }) => event)).toEqual(['login_user.deleted']);
});

test('an import: login_user.created; the external id is in it and in later events by a setting alone', async () => {
  const subject = unique('anna');
  const external_id = unique('external');
  const line = {
    provider: 'provider_f',
    issuer: `${demo.sandbox_url}/provider_f`,
    subject,
    external_id,
  };
  const people = [{ line: 1, text: JSON.stringify(line), repetition: 0 }];
  const imported = await publishedDuring(() =>
    operate('login-users', 'import', { 'login-app': login_app_id, people }),
  );
  const user = { login_user_id: expect.any(String), login_app_id, provider: 'provider_f' };
  expect(imported).toEqual([{ event: 'login_user.created', ...user, created_at: 'TIME' }]);
  process.env.EXTERNAL_ID_IN_EVENTS = 'true';
  try {
    expect(await publishedDuring(() => newPerson(service, subject))).toMatchObject([
      { event: 'login_user.logged_in', external_id },
    ]);
  } finally {
    delete process.env.EXTERNAL_ID_IN_EVENTS;
  }
});

test('a profile and the name of a session are in no event', async () => {
  const claims = JSON.stringify({ email: 'alice@example.com', name: 'Alice Example' });
  const query = { subject: unique('anna'), claims };
  const events = await publishedDuring(async () => {
    const form = {
      ...(await service.loginForm('provider_f', query)),
      session_name: 'Alice’s iPad',
    };
    const { body } = await service.token(form);
    const account = accountOf(service, body.access_token);
    expect((await account.show()).text).toContain('Alice Example');
    await account.linkAt('provider_a', unique('anna'), { claims });
  });
  const types = events.map(({ event }) => event);
  expect(types).toEqual(['identity.linked', 'login_user.created', 'login_user.logged_in']);
  expect(JSON.stringify(events)).not.toMatch(/alice|profile|ipad/i);
});

test("a provider's token that is kept, handed out and refreshed is in no event; when the provider ends it: provider_access.ended", async () => {
  const grants = newGrants({ rotates: true });
  const keeper = await newKeeper(service, standIn, { grants, rights: byId });
  const logIn = await during(() => keeper.logIn());
  const { loginUserId, account } = logIn.result;
  const published = [
    ...logIn.published,
    ...(await publishedDuring(() => account.link(keeper.code(unique('other'))))),
  ];
  const types = published.map(({ event }) => event);
  expect(types).toEqual(['login_user.created', 'login_user.logged_in', 'identity.linked']);

  const [identity_id = ''] = identityIdsOf(await account.show());
  const exchange = () => keeper.exchangeById(loginUserId, { identity_id });
  expect(await publishedDuring(exchange)).toEqual([]);
  running.advance(3601);
  expect(await publishedDuring(exchange)).toEqual([]);
  expect(grants.refreshes).toBe(1);
  grants.end();
  running.advance(3601);
  const ended = await publishedDuring(exchange);
  expect(ended).toMatchObject([{ event: 'provider_access.ended', identity_id }]);
  expect(JSON.stringify([published, ended])).not.toMatch(/provider-(access|refresh)-|secret/);
});

test('linking and unlinking: identity.linked, identity.unlinked; a login with either: logged_in, with its provider', async () => {
  const { loginUserId: login_user_id, token, subject } = await newPerson(service);
  const account = accountOf(service, token);
  const { published, result } = await during(() => account.linkAt('provider_a', subject));
  const identity_id: string = result.body.id;
  expect(published).toEqual([{ event: 'identity.linked', login_user_id, identity_id }]);
  const loggedIn = {
    event: 'login_user.logged_in',
    login_user_id,
    login_app_id,
    provider: 'provider_a',
    session_id: expect.any(String),
    logged_in_at: 'TIME',
  };
  expect(await publishedDuring(() => service.logIn(subject, 'provider_a'))).toEqual([loggedIn]);
  const [first = ''] = identityIdsOf(await account.show());
  const unlinked = (id: string) => [{ event: 'identity.unlinked', login_user_id, identity_id: id }];
  expect(await publishedDuring(() => account.unlink(first))).toEqual(unlinked(first));
  expect(await publishedDuring(() => service.logIn(subject, 'provider_a'))).toEqual([loggedIn]);
  await account.linkAt('provider_a', `${subject}2`);
  expect(await publishedDuring(() => account.unlink(identity_id))).toEqual(unlinked(identity_id));
});

test.each(['provider_a', 'provider_f'])(
  'identities add --move at %s: one loses it, the other gets it',
  async (provider) => {
    const [alice, bob] = [await newPerson(service), await newPerson(service)];
    const account = accountOf(service, alice.token);
    await account.linkAt('provider_a', alice.subject);
    const [first = '', linked = ''] = identityIdsOf(await account.show());
    const moved = provider === 'provider_f' ? first : linked;
    const issuer = provider === 'provider_f' ? { issuer: `${demo.sandbox_url}/provider_f` } : {};
    const flags = {
      'login-user': bob.loginUserId,
      provider,
      ...issuer,
      subject: alice.subject,
      move: true,
    };
    const events = await publishedDuring(() => operate('identities', 'add', flags));
    expect(events).toEqual([
      {
        event: 'identity.linked',
        login_user_id: bob.loginUserId,
        identity_id: expect.any(String),
      },
      { event: 'identity.unlinked', login_user_id: alice.loginUserId, identity_id: moved },
    ]);
  },
);

test('a merge: login_user.merged with both ids, and no login_user.deleted; the identities and the devices move', async () => {
  const kept = await newPerson(service);
  const gone = await newPersonWithPhone(service);
  const device_id = gone.phone;
  await gone.account.linkAt('provider_a', unique('linked'));
  const [, linked = ''] = identityIdsOf(await gone.account.show());
  const { published, result } = await during(() => merge(service, kept, 'mine', gone.subject));
  expect(result.status).toBe(200);
  const [, ...came] = identityIdsOf(await kept.account.show());
  const toKept = { login_user_id: kept.loginUserId };
  const device = { device_id, login_app_id, platform: 'android' };
  const related = { ...device, ...toKept, related_at: 'TIME' };
  const former_login_user_id = gone.loginUserId;
  const expected = [
    ...came.map((identity_id) => ({ event: 'identity.linked', ...toKept, identity_id })),
    { event: 'identity.unlinked', login_user_id: gone.loginUserId, identity_id: linked },
    {
      event: 'login_user.merged',
      login_user_id: gone.loginUserId,
      login_app_id,
      merged_into: kept.loginUserId,
    },
    { event: 'device.relation_ended', ...device, login_user_id: gone.loginUserId },
    { event: 'device.related', ...related },
    { event: 'device.moved', ...related, former_login_user_id },
  ];
  expect(published).toHaveLength(expected.length);
  expect(published).toEqual(expect.arrayContaining(expected));
});

test('a refresh and a rejected login publish nothing', async () => {
  const { refreshToken, loginUserId, subject } = await newPerson(service);
  expect(await publishedDuring(() => refresh(refreshToken))).toEqual([]);
  await operate('login-users', 'block', { 'login-user': loginUserId });
  expect(await publishedDuring(() => service.logIn(subject))).toEqual([]);
});

test('login-users block: login_user.blocked; again, or unblock: nothing', async () => {
  const { loginUserId } = await newPerson(service);
  const flags = { 'login-user': loginUserId };
  const user = { login_user_id: loginUserId, login_app_id };
  const blocked = { event: 'login_user.blocked', ...user, blocked_at: 'TIME' };
  expect(await publishedDuring(() => operate('login-users', 'block', flags))).toEqual([blocked]);
  expect(await publishedDuring(() => operate('login-users', 'block', flags))).toEqual([]);
  expect(await publishedDuring(() => operate('login-users', 'unblock', flags))).toEqual([]);
});

test('a report that an account was hijacked: login_user.hijacked; another reason: nothing', async () => {
  const settings = { notifications: { on_account_disabled: 'nothing' } };
  const { app, logIn, setOf, push } = await newIssuerLogin(service, standIn, settings);
  const { loginUserId: login_user_id } = await logIn();
  const report = async (reason: string, iat: number) => {
    const set = await setOf('risc/event-type/account-disabled', { iat }, { reason });
    expect((await push(set)).status).toBe(202);
  };
  const iat = Math.floor(Date.now() / 1000);
  const user = { login_user_id, login_app_id: app.login_app_id };
  const hijacked = { event: 'login_user.hijacked', ...user, hijacked_at: 'TIME' };
  expect(await publishedDuring(() => report('bulk-account', iat))).toEqual([]);
  expect(await publishedDuring(() => report('hijacking', iat - 60))).toEqual([]);
  expect(await publishedDuring(() => report('hijacking', iat))).toEqual([hijacked]);
  expect(await publishedDuring(() => report('hijacking', iat))).toEqual([]);
  expect(await publishedDuring(() => report('hijacking', iat + 1))).toEqual([hijacked]);
});

test('mail to a person’s relay address at Apple: login_user.email_disabled and email_enabled, once each', async () => {
  const { app, logIn, notification, post } = await newIssuerLogin(service, standIn);
  const { loginUserId: login_user_id } = await logIn();
  const user = { login_user_id, login_app_id: app.login_app_id };
  const disabled = await notification('email-disabled');
  const enabled = await notification('email-enabled');
  const send = (payload: string) => async () => expect((await post(payload)).status).toBe(204);
  const off = { event: 'login_user.email_disabled', ...user, email_disabled_at: 'TIME' };
  const on = { event: 'login_user.email_enabled', ...user, email_enabled_at: 'TIME' };
  expect(await publishedDuring(send(disabled))).toEqual([off]);
  expect(await publishedDuring(send(disabled))).toEqual([]);
  expect(await publishedDuring(send(enabled))).toEqual([on]);
});

/** What is published when the only session of a person ends, who has a phone. */
const endOf = ({ loginUserId: login_user_id, sessionId, phone }: Owner, reason: string) => {
  const user = { login_user_id, login_app_id };
  const session = { session_id: sessionId, client_id: demo.login_app.client_id };
  return [
    { event: 'device.relation_ended', device_id: phone, platform: 'android', ...user },
    { event: 'session.ended', ...session, ...user, reason, ended_at: 'TIME' },
  ];
};

test.each<[string, (owner: Owner) => Promise<unknown>]>([
  [
    'login-users logout',
    ({ loginUserId: id }) => operate('login-users', 'logout', { 'login-user': id }),
  ],
  ['DELETE user/sessions', ({ account }) => account.endSessions()],
  ['DELETE user/sessions?except=current', ({ account }) => account.endSessions('?except=current')],
])(
  '%s: login_user.sessions_ended for all, and the end of the relations they made',
  async (name, end) => {
    const owner = await newOwner();
    const keepsOne = name.endsWith('current');
    const { loginUserId: login_user_id, sessionId, phone: device_id } = owner;
    const user = { login_user_id, login_app_id };
    const kept = keepsOne && { kept_session_id: sessionId };
    expect(await publishedDuring(() => end(owner))).toEqual([
      ...(keepsOne
        ? []
        : [{ event: 'device.relation_ended', device_id, platform: 'android', ...user }]),
      { event: 'login_user.sessions_ended', ...user, ended_at: 'TIME', ...kept },
    ]);
  },
);

const { refresh } = service;

test.each<[string, number, string, (owner: Owner) => Promise<Answer>]>([
  [
    'DELETE user/sessions/{session_id}',
    204,
    'ended',
    ({ account, sessionId: id }) => account.endSession(id),
  ],
  [
    'a refresh token that is used again after its successor',
    400,
    'ended',
    async ({ refreshToken }) => {
      const { body } = await refresh(refreshToken);
      await refresh(body.refresh_token);
      return refresh(refreshToken);
    },
  ],
  [
    'a refresh token that comes back late, in three generations in a row',
    400,
    'reuse',
    async ({ refreshToken }) => {
      const late = async (token: string) => {
        await refresh(token);
        running.advance(61);
        return refresh(token);
      };
      const { body } = await late(refreshToken);
      return late((await late(body.refresh_token)).body.refresh_token);
    },
  ],
  [
    'a refresh that the login hook refuses',
    400,
    'hook',
    async ({ refreshToken }) => {
      writeFileSync(refusal, '');
      const answer = await refresh(refreshToken);
      rmSync(refusal);
      return answer;
    },
  ],
])('%s: session.ended, and the end of the relations it made', async (_, status, reason, end) => {
  const owner = await newOwner();
  const ending = async () => expect((await end(owner)).status).toBe(status);
  expect(await publishedDuring(ending)).toEqual(endOf(owner, reason));
});

test('a session whose place a login takes: ended then; expired if it had ended with all others, when they did', async () => {
  const { subject, sessionId } = await newPerson(service);
  const endsAtLogin = async () => {
    running.advance(1);
    await publishedDuring(() => service.logIn(subject, 'provider_f'));
    const ends = bus.taken.filter(({ DetailType }) => DetailType === 'session.ended');
    return ends.map(({ Detail: { reason, session_id, ended_at } }) => ({
      reason,
      session_id,
      ended_at,
    }));
  };
  expect([await endsAtLogin(), await endsAtLogin()]).toEqual([[], []]);
  expect(await endsAtLogin()).toMatchObject([{ reason: 'ended', session_id: sessionId }]);
  const kept = await newPerson(service, subject);
  await publishedDuring(() => kept.account.endSessions('?except=current'));
  const [{ Detail: { ended_at = '' } = {} } = {}] = bus.taken;
  expect(await endsAtLogin()).toMatchObject([{ reason: 'expired', ended_at }]);
  expect(await endsAtLogin()).toMatchObject([{ reason: 'expired', ended_at }]);
  expect(await endsAtLogin()).toMatchObject([{ reason: 'ended', session_id: kept.sessionId }]);
});

test('login-users delete: login_user.deleted stands for the sessions too', async () => {
  const { loginUserId, phone } = await newOwner();
  const user = { login_user_id: loginUserId, login_app_id };
  const remove = () => operate('login-users', 'delete', { 'login-user': loginUserId });
  expect(await publishedDuring(remove)).toEqual([
    { event: 'device.relation_ended', device_id: phone, platform: 'android', ...user },
    { event: 'login_user.deleted', ...user },
  ]);
});

test('what is set up publishes nothing: apps, clients, provider settings, accounts, access', async () => {
  const setUp = async () => {
    await createLoginApp(service, unique('app'), { platforms: ['android'] });
    const { account_id } = await operate('accounts', 'create', { name: 'Back office' });
    await operate('access-requests', 'grant', {
      'access-request': demo.access_request_id,
      account: account_id,
    });
  };
  expect(await publishedDuring(setUp)).toEqual([]);
});
