import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { passesFilter } from '../../infra/local/filter-stream.ts';
import { type Arrived, problemsOf, startBusStandIn } from '../support/bus-stand-in.ts';
import { newGuest } from '../support/guests.ts';
import { newIssuerLogin } from '../support/issuer-login.ts';
import { createLoginApp } from '../support/login-app.ts';
import { merge } from '../support/merges.ts';
import { scratchFolder } from '../support/own-service.ts';
import { accountOf, identityIdsOf, newPerson, newPhone } from '../support/people.ts';
import { newPublicClient, newPhone as newPublicPhone } from '../support/phone.ts';
import { newGrants, newKeeper } from '../support/provider-access.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { type Answer, unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import { recordOf, recordsDuring } from '../support/stream-records.ts';
import { byId } from '../support/token-exchange.ts';

const folder = scratchFolder();
const hook = join(folder, 'hook.mjs');
/** While it is there, the hook refuses everything. */
const refusal = join(folder, 'refusal');
writeFileSync(
  hook,
  `import { existsSync } from 'node:fs';
  export const handler = async () => ({ deny: existsSync(${JSON.stringify(refusal)}) });`,
);
const { running, service, dynamoDb, tableName } = await startServiceWithStore(
  { MAX_SESSIONS: '3', LOGIN_HOOK: hook },
  { movableClock: true },
);
const { demo, operate } = service;
const bus = await startBusStandIn();
const standIn = await startProviderStandIn();
afterAll(() => bus.close());
const { handler: publish } = await import('../../functions/publish-events.ts');
const handler = (event: unknown) => publish(event, { awsRequestId: 'r-1' });

const appToken = await service.loginAppToken();
beforeEach(() => {
  bus.forget();
  running.resetClock();
});

/**
 * What is published about an action, apart from what differs each time, behind the filter of the
 * stream; each event is held against its schema.
 */
const publishedDuring = async (
  action: () => Promise<unknown>,
): Promise<Record<string, unknown>[]> => (await during(action)).published;

/**
 * The same, with the result of the action, and how many changes pass the filter: each invokes the
 * function if it comes alone.
 */
async function during<Result>(action: () => Promise<Result>) {
  let result: Promise<Result> | undefined;
  const changes = await recordsDuring(dynamoDb, tableName, () => (result = action()));
  const Records = changes.filter(passesFilter);
  bus.forget();
  expect(await handler({ Records })).toEqual({ batchItemFailures: [] });
  expect(bus.letters).toEqual([]);
  expect(bus.taken.flatMap(problemsOf)).toEqual([]);
  const published = bus.taken.map(plain).toSorted((a, b) => (a.event < b.event ? -1 : 1));
  if (!result) throw new Error('The action was not carried out.');
  return { published, passing: Records.length, result: await result };
}

const plain = ({ DetailType: event, Detail }: Arrived) => {
  const { id, sequence, occurred_at, ...detail } = Detail;
  const times = Object.entries(detail).map(([name, value]) => [
    name,
    name.endsWith('_at') ? 'TIME' : value,
  ]);
  return { event, ...Object.fromEntries(times) };
};

const login_app_id = demo.login_app.login_app_id;

/** A person with a phone that is related to them. */
async function newOwner() {
  const person = await newPerson(service);
  const phone = await newPhone(service, appToken);
  await service.relate(phone, person.token);
  return { ...person, phone };
}

type Owner = Awaited<ReturnType<typeof newOwner>>;

describe('people and sessions', () => {
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
    const unlinked = (id: string) => [
      { event: 'identity.unlinked', login_user_id, identity_id: id },
    ];
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
    const [kept, gone] = [await newPerson(service), await newPerson(service)];
    await gone.account.linkAt('provider_a', unique('linked'));
    const [, linked = ''] = identityIdsOf(await gone.account.show());
    const device_id = await newPhone(service);
    await service.relate(device_id, gone.token);
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
    [
      'DELETE user/sessions?except=current',
      ({ account }) => account.endSessions('?except=current'),
    ],
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
});

describe('devices', () => {
  test('a first registration: device.registered; a further one: nothing', async () => {
    const device = { platform: 'android', token: unique('phone') };
    const register = () => service.register(device, appToken);
    const { published, result } = await during(register);
    const device_id: string = result.body.id;
    const times = { created_at: 'TIME', registered_at: 'TIME' };
    const registered = {
      event: 'device.registered',
      device_id,
      login_app_id,
      platform: 'android',
      ...times,
    };
    expect(published).toEqual([registered]);
    expect(await publishedDuring(register)).toEqual([]);

    const disable = () => operate('devices', 'disable', { device: device_id });
    const { created_at, registered_at, ...own } = registered;
    expect(await publishedDuring(disable)).toEqual([
      { ...own, event: 'device.disabled', disabled_at: 'TIME' },
    ]);
    expect(await publishedDuring(disable)).toEqual([]);
    expect(await publishedDuring(register)).toEqual([registered]);
  });

  test('a relation: device.related; again: nothing; by another person: the former relation ends first', async () => {
    const [anna, bert] = [await newPerson(service), await newPerson(service)];
    const device_id = await newPhone(service, appToken);
    const device = { device_id, login_app_id, platform: 'android' };
    const related = { event: 'device.related', ...device, related_at: 'TIME' };
    const relate = (token: string) => publishedDuring(() => service.relate(device_id, token));
    expect(await relate(anna.token)).toEqual([{ ...related, login_user_id: anna.loginUserId }]);
    expect(await relate(anna.token)).toEqual([]);
    expect(await relate(bert.token)).toEqual([
      {
        ...related,
        event: 'device.moved',
        login_user_id: bert.loginUserId,
        former_login_user_id: anna.loginUserId,
      },
      { ...related, login_user_id: bert.loginUserId },
      { event: 'device.relation_ended', ...device, login_user_id: anna.loginUserId },
    ]);
    const inOrder = bus.taken.toSorted((a, b) =>
      String(a.Detail.sequence) < String(b.Detail.sequence) ? -1 : 1,
    );
    expect(inOrder.map(({ DetailType }) => DetailType)).toEqual([
      'device.relation_ended',
      'device.related',
      'device.moved',
    ]);
    const end = () => service.endRelation(device_id, bert.token);
    expect(await publishedDuring(end)).toEqual([
      { event: 'device.relation_ended', ...device, login_user_id: bert.loginUserId },
    ]);
  });

  test('another token of an installation: the relation of the old device ends, the new one is registered and related', async () => {
    const { loginUserId: login_user_id, token } = await newPerson(service);
    const installation_id = unique('installation');
    const register = async () => {
      const device = { platform: 'android', token: unique('phone'), installation_id };
      return (await service.register(device, appToken)).body.id;
    };
    const former = await register();
    await service.relate(former, token);
    const { published, result: device_id } = await during(register);
    const device = { device_id, login_app_id, platform: 'android' };
    expect(published).toEqual([
      { event: 'device.registered', ...device, created_at: 'TIME', registered_at: 'TIME' },
      { event: 'device.related', ...device, login_user_id, related_at: 'TIME' },
      { event: 'device.relation_ended', ...device, device_id: former, login_user_id },
    ]);
    expect(JSON.stringify(bus.requests)).not.toContain(installation_id);
  });
});

describe('access requests', () => {
  const expire = () => service.runSchedule();
  const custom = (actor_id: string) => ({ actor_type: 'custom', actor_id });

  test.each([
    ['approved', ['approved'], { approvals_needed: 1 }, 1],
    ['rejected', ['approved', 'rejected'], { approvals_needed: 3 }, 1],
    ['expired', [], {}, 0],
  ])(
    'created with its fields, and once decided: %s',
    async (decision, reviews, more, approvals) => {
      const expires_at = new Date(Date.now() + 60_000).toISOString();
      const time = decision === 'expired' && { expires_at };
      const fields = { title: 'A title', reference: unique('case'), requested_by: custom('ann') };
      const body = { ...fields, ...more, ...time };
      const { published, result } = await during(() => service.createAccessRequest({ body }));
      const { id } = result.body;
      const { account_id } = demo.account;
      const created = {
        event: 'access_request.created',
        account_id,
        created_at: 'TIME',
        approvals_needed: 1,
      };
      expect(published).toEqual([
        { ...created, ...body, ...(time && { expires_at: 'TIME' }), access_request_id: id },
      ]);
      const decide = async () => {
        for (const [place, status] of reviews.entries())
          await service.addEvent('reviews', { ...custom(`${place}`), status }, { id });
        if (time) {
          running.advance(61);
          await expire();
        }
        expect((await service.accessRequests(`/${id}`)).body.decision).toBe(decision);
        await service.addEvent('reviews', { ...custom('late'), status: 'rejected' }, { id });
        await service.accessRequests(`/${id}`);
      };
      expect(
        (await publishedDuring(decide)).filter(({ event }) => event !== 'event.added'),
      ).toEqual([
        {
          event: 'access_request.decided',
          access_request_id: id,
          decision,
          approvals,
          decided_at: 'TIME',
        },
      ]);
    },
  );

  test('access_request.created, and event.added once for each comment and review, without its text and author', async () => {
    const { published, result } = await during(() => service.createAccessRequest());
    const { id } = result.body;
    const { account_id } = demo.account;
    expect(published).toEqual([
      { event: 'access_request.created', access_request_id: id, account_id, created_at: 'TIME' },
    ]);
    const content = {
      actor_type: 'custom',
      actor_id: 'anna@example.com',
      comment: 'The secret plan.',
    };
    for (const [path, event] of [
      ['comments', { type: 'comment', event_id: 1 }],
      ['reviews', { type: 'review', status: 'approved', event_id: 2 }],
    ] as const) {
      const add = () => service.addEvent(path, { status: 'approved', ...content }, { id });
      expect(await publishedDuring(add)).toMatchObject([{ event: 'event.added', ...event }]);
      expect(bus.taken.map(({ Detail }) => Detail.status)).toEqual([
        'status' in event ? 'approved' : undefined,
      ]);
      expect(JSON.stringify(bus.requests)).not.toMatch(/anna@example|secret plan/);
    }
  });

  test('an import publishes the events that are new', async () => {
    const { id } = (await service.createAccessRequest()).body;
    const event = { access_request_id: id, type: 'comment', ...custom('7'), comment: 'x' };
    const events = [{ line: 1, text: JSON.stringify(event), repetition: 0 }];
    const importing = () => publishedDuring(() => operate('events', 'import', { events }));
    expect(await importing()).toMatchObject([
      { event: 'event.added', access_request_id: id, event_id: 1 },
    ]);
    expect(await importing()).toEqual([]);
  });
});

describe('the publishing function is invoked', () => {
  const passing = async (action: () => Promise<unknown>): Promise<number> =>
    (await during(action)).passing;

  test('once by a login, and never by a refresh, whatever the client', async () => {
    const subject = unique('anna');
    expect(await passing(() => newPerson(service, subject))).toBe(1);
    const { refreshToken } = await newPerson(service, subject);
    expect(await passing(() => service.refresh(refreshToken))).toBe(0);

    const phone = await newPublicPhone(service, await newPublicClient(service));
    const first = await during(() => phone.logIn());
    expect(first.passing).toBe(1);
    const { refresh_token } = first.result.body;
    expect(await passing(() => phone.refresh(refresh_token))).toBe(0);
  });

  test('never when the table removes what was used once, or a session that had ended', async () => {
    const phone = await newPublicPhone(service, await newPublicClient(service));
    const { body } = await phone.logIn();
    const logOut = () => phone.send('revoke', { token: body.refresh_token });
    expect(await passing(logOut)).toBe(1);
    const { Items = [] } = await dynamoDb.send(new ScanCommand({ TableName: tableName }));
    const isEnded = (item: (typeof Items)[number]) => item.ended_at !== undefined;
    const expired = Items.filter((item) => item.pk?.S?.startsWith('USED_ONCE#') || isEnded(item));
    expect(expired.some(isEnded) && !expired.every(isEnded)).toBe(true);
    const records = expired.map((item) => recordOf(unmarshall(item), undefined));
    expect(records.filter(passesFilter)).toEqual([]);
  });

  test('once by the first registration of a device, and never by further ones until it is linked', async () => {
    const device = { platform: 'android', token: unique('phone'), installation_id: unique('i') };
    const register = () => service.register(device, appToken);
    const { passing: first, result } = await during(register);
    expect([first, await passing(register)]).toEqual([1, 0]);
    const { token } = await newPerson(service);
    expect(await passing(() => service.relate(result.body.id, token))).toBe(1);
    // The filter can't compare the person with the one before.
    expect(await passing(register)).toBe(1);
  });

  test('once by an access request, each comment and each review that decides nothing', async () => {
    const { passing: created, result } = await during(() => service.createAccessRequest());
    const { id } = result.body;
    const comment = { actor_type: 'custom', actor_id: 'desk', comment: 'Fine.' };
    const add = (path: 'comments' | 'reviews') => () =>
      service.addEvent(path, { ...comment, status: 'approved' }, { id });
    expect([created, await passing(add('comments')), await passing(add('reviews'))]).toEqual([
      1, 1, 1,
    ]);
  });
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
