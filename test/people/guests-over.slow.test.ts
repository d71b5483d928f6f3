import { DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
import { afterEach, describe, expect, test } from '@jest/globals';
import { newIndexId } from '../../lib/login-users/login-user.ts';
import { dueGuestsList, guestEndKey, loginUserKey } from '../../lib/storage/keys.ts';
import { type Guest, newGuest, newGuestApp, newGuestPhone } from '../support/guests.ts';
import { itemAt, itemsAbout, setAttributes } from '../support/items-about.ts';
import { logLines } from '../support/log-lines.ts';
import { identityIdsOf, newPhone, subOf } from '../support/people.ts';
import { unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import { isWrite, type StoreCall } from '../support/store-proxy.ts';

const started = await startServiceWithStore({}, { movableClock: true });
const { running, service, proxy } = started;
const { operate } = service;
afterEach(async () => {
  // What a test leaves is due in none of the others.
  running.advance(400 * day);
  await sweep();
  running.resetClock();
});

const day = 86_400;
const sweep = () => service.runSchedule();

/** What the table has of somebody: of a guest who is gone, nothing but the item that keeps the id. */
async function leftOf({ loginUserId }: Guest): Promise<unknown[]> {
  const items = await itemsAbout(started, loginUserId);
  return items.map(({ sk, created_at }) => (created_at === undefined ? sk : `${sk}, existing`));
}
const gone = ['LOGIN_USER'];
const isThere = async (guest: Guest): Promise<boolean> =>
  (await leftOf(guest)).includes('LOGIN_USER, existing');

describe('a guest whose session has expired', () => {
  test('is gone after the next sweep, with session and link of the device, by `expiry`', async () => {
    const guest = await newGuest(service);
    const device = await newPhone(service);
    await service.relate(device, guest.token);
    running.advance(29 * day);
    await sweep();
    expect(await isThere(guest)).toBe(true);
    running.advance(2 * day);
    await sweep();
    expect(await leftOf(guest)).toEqual(gone);
    const { body } = await service.recipients(`login_user_id=${guest.loginUserId}`);
    expect(body.recipients).toEqual([]);
    const line = { event: 'login_user_deleted', by: 'expiry' };
    expect(logLines(running, guest.loginUserId)).toContainEqual(expect.objectContaining(line));
  });

  test('that was refreshed stays until the end that it got', async () => {
    let { refreshToken, ...guest } = await newGuest(service);
    running.advance(20 * day);
    refreshToken = (await service.refresh(refreshToken)).body.refresh_token;
    running.advance(20 * day);
    await sweep();
    expect(await isThere({ ...guest, refreshToken })).toBe(true);
    expect((await service.refresh(refreshToken)).status).toBe(200);
    running.advance(31 * day);
    await sweep();
    await sweep();
    expect(await leftOf({ ...guest, refreshToken })).toEqual(gone);
  });

  test('is gone although the table has deleted the session', async () => {
    const guest = await newGuest(service);
    const { pk } = loginUserKey(guest.loginUserId);
    const items = await itemsAbout(started, guest.loginUserId);
    const session = items.find(({ sk }) => String(sk).startsWith('SESSION#'));
    await setAttributes(started, { pk, sk: String(session?.sk) }, { expires_at: 1 });
    running.advance(31 * day);
    await sweep();
    expect(await leftOf(guest)).toEqual(gone);
  });

  test('is gone while an operator has blocked them', async () => {
    const guest = await newGuest(service);
    await operate('login-users', 'block', { 'login-user': guest.loginUserId });
    running.advance(31 * day);
    await sweep();
    expect(await leftOf(guest)).toEqual(gone);
  });
});

test.each<[string, (guest: Guest) => Promise<unknown>]>([
  ['a revocation', ({ refreshToken }) => service.revoke(refreshToken)],
  ['the end of the session', ({ account, sessionId }) => account.endSession(sessionId)],
  ['the end of all sessions', ({ account }) => account.endSessions()],
  [
    'an operator',
    ({ loginUserId }) => operate('login-users', 'logout', { 'login-user': loginUserId }),
  ],
])('a guest who is logged out by %s is gone after the next sweep', async (_, logOut) => {
  const guest = await newGuest(service);
  await logOut(guest);
  running.advance(1);
  await sweep();
  expect(await leftOf(guest)).toEqual(gone);
});

test('a guest who ends all other sessions stays', async () => {
  const guest = await newGuest(service);
  await guest.account.endSessions('?except=current');
  running.advance(1);
  await sweep();
  expect(await isThere(guest)).toBe(true);
});

test('a guest whose session 1.1.0 has let go on is gone when their days are over', async () => {
  const app = await newGuestApp(service, { days: 10 });
  const guest = await newGuest(service, app);
  const items = await itemsAbout(started, guest.loginUserId);
  const { pk, sk } = items.find(({ sk }) => String(sk).startsWith('SESSION#')) ?? {};
  const key = { pk: String(pk), sk: String(sk) };
  await setAttributes(started, key, { expires_at: running.now() + 30 * day });
  running.advance(10 * day + 1);
  expect((await service.refresh(guest.refreshToken, app)).body.error).toBe('invalid_grant');
  running.advance(60);
  await sweep();
  expect(await leftOf(guest)).toEqual(gone);
});

/** Links an identity to a guest as 1.1.0 does: the marks of a guest stay. */
async function linkAs110({ loginUserId }: Guest, subject: string): Promise<void> {
  const identity_id = 'i_aaaaaaaaaaaaaaaaaaaaaa';
  const about = { provider: 'provider_f', namespace: 'https://a.example', subject };
  const linked_at = '2026-01-31T08:00:00.000Z';
  await setAttributes(started, loginUserKey(loginUserId), {
    [`identity_${identity_id}`]: { identity_id, slot: newIndexId(), ...about, linked_at },
    linked_identities: 1,
  });
}

describe('a guest who has become a person', () => {
  test('stays, and nothing leads to them any more', async () => {
    const guest = await newGuestPhone(service);
    await guest.linkAs(unique('alice'));
    expect(await itemAt(started, guestEndKey(guest.loginUserId))).toBeUndefined();
    running.advance(100 * day);
    await sweep();
    expect(await isThere(guest)).toBe(true);
  });

  test('by 1.1.0, before the sweep, stays, and is settled by it', async () => {
    const guest = await newGuest(service);
    await linkAs110(guest, unique('alice'));
    running.advance(31 * day);
    await sweep();
    expect(await isThere(guest)).toBe(true);
    expect(await itemAt(started, guestEndKey(guest.loginUserId))).toBeUndefined();
    expect(await itemAt(started, loginUserKey(guest.loginUserId))).not.toHaveProperty(
      'guest_until',
    );
  });

  test('by 1.1.0, in the middle of the sweep, stays', async () => {
    const guest = await newGuest(service);
    running.advance(31 * day);
    let isLinked = false;
    const linkBeforeDeletion = async ({ operation }: StoreCall) => {
      if (operation !== 'TransactWriteItems' || isLinked) return undefined;
      isLinked = true;
      await linkAs110(guest, unique('alice'));
      return undefined;
    };
    await proxy.during(linkBeforeDeletion, sweep);
    expect(isLinked).toBe(true);
    expect(await isThere(guest)).toBe(true);
  });
});

test('what leads to somebody who is not there goes', async () => {
  const login_user_id = newIndexId();
  const key = guestEndKey(login_user_id);
  const place = { list: dueGuestsList, list_position: '2026-01-31T08:00:00.000Z' };
  const Item = { ...key, ...place, login_user_id };
  const { dynamoDb, tableName: TableName } = started;
  await DynamoDBDocumentClient.from(dynamoDb).send(new PutCommand({ TableName, Item }));
  await sweep();
  expect(await itemAt(started, key)).toBeUndefined();
});

/** Lets a rival act just before one write of a sweep; whether the sweep makes so many. */
async function overtaken(place: number, rival: () => Promise<unknown>): Promise<boolean> {
  let seen = 0;
  let acting: Promise<unknown> | undefined;
  const hook = async (call: StoreCall) => {
    if (acting || !isWrite(call) || seen++ !== place) return undefined;
    acting = rival();
    await acting;
    return undefined;
  };
  await proxy.during(hook, sweep);
  return acting !== undefined;
}

describe('a sweep, with a rival before each of its writes', () => {
  test('a link: the guest is a person who logs in, or is gone and the identity is free', async () => {
    for (let place = 0; ; place += 1) {
      const guest = await newGuest(service);
      await service.revoke(guest.refreshToken);
      running.advance(1);
      const subject = unique('alice');
      const flags = { 'login-user': guest.loginUserId, provider: 'provider_a', subject };
      const link = () => operate('identities', 'add', flags).catch(() => undefined);
      const happened = await overtaken(place, link);
      const sub = subOf(await service.logIn(subject, 'provider_a'));
      const isPerson = sub === guest.loginUserId;
      expect(await isThere(guest)).toBe(isPerson);
      if (place === 0) expect(isPerson).toBe(true);
      if (!happened) break;
      running.resetClock();
    }
  });

  test('a device that is linked: its person is there, or the device has none', async () => {
    for (let place = 0; ; place += 1) {
      const guest = await newGuest(service);
      const device = await newPhone(service);
      const { pk } = loginUserKey(guest.loginUserId);
      const position = '2026-01-31T08:00:00.000Z';
      await setAttributes(started, guestEndKey(guest.loginUserId), { list_position: position });
      await setAttributes(started, { pk, sk: 'LOGIN_USER' }, { guest_until: 1 });
      const happened = await overtaken(place, () => service.relate(device, guest.token));
      const { body } = await service.recipients(`login_user_id=${guest.loginUserId}`);
      expect(body.recipients).toEqual([]);
      expect(await leftOf(guest)).toEqual(gone);
      if (!happened) break;
    }
  });
});

test('a guest has a minute more than the session, and a refresh beside the sweep lets them stay', async () => {
  const guest = await newGuest(service);
  running.advance(30 * day + 30);
  await sweep();
  expect(await isThere(guest)).toBe(true);
  running.resetClock();
  const position = '2026-01-31T08:00:00.000Z';
  await setAttributes(started, guestEndKey(guest.loginUserId), { list_position: position });
  const refresh = () => service.refresh(guest.refreshToken);
  expect(await overtaken(0, refresh)).toBe(true);
  await sweep();
  expect(await isThere(guest)).toBe(true);
  expect((await service.refresh(guest.refreshToken)).status).toBe(200);
});

describe('a sweep that dies at any of its calls', () => {
  test.each(['fails before', 'fails after'] as const)('%s: a later one finishes', async (fault) => {
    for (let place = 0; ; place += 1) {
      const guest = await newGuest(service);
      await service.relate(await newPhone(service), guest.token);
      await service.revoke(guest.refreshToken);
      running.advance(1);
      let seen = 0;
      const dying = (call: StoreCall) => (isWrite(call) && seen++ === place ? fault : undefined);
      await proxy.during(dying, () => sweep().catch(() => undefined));
      if (seen <= place) break;
      running.advance(601);
      await sweep();
      expect(await leftOf(guest)).toEqual(gone);
      running.resetClock();
    }
  });
});

test('twenty links of one guest at once are one promotion', async () => {
  const guest = await newGuestPhone(service);
  const subjects = Array.from({ length: 20 }, () => unique('alice'));
  const answers = await Promise.all(subjects.map((subject) => guest.linkAs(subject)));
  const linked = answers.filter(({ status }) => status === 201);
  expect(linked.length).toBeGreaterThan(0);
  expect(identityIdsOf(await guest.account.show())).toHaveLength(linked.length);
  const lines = logLines(running, guest.loginUserId);
  expect(lines.filter(({ event }) => event === 'login_user_promoted')).toHaveLength(1);
  for (const [at, subject] of subjects.entries()) {
    if (answers[at]?.status !== 201) continue;
    expect(subOf(await service.logIn(subject))).toBe(guest.loginUserId);
  }
});

test('a thousand guests cost as much each as a hundred, and all go', async () => {
  const app = await newGuestApp(service, { 'per-hour': 100_000, 'per-client-per-hour': 100_000 });
  const callsForEach = async (count: number): Promise<number> => {
    for (let made = 0; made < count; made += 50)
      await Promise.all(Array.from({ length: 50 }, () => newGuest(service, app)));
    running.advance(31 * day);
    proxy.forget();
    const flags = { 'login-app': app.login_app_id };
    // A sweep ends after 40 s, and the next one goes on.
    for (let sweeps = 0; sweeps < 10; sweeps += 1) {
      await sweep();
      const calls = proxy.calls().length;
      const { login_users } = await operate('login-users', 'list', flags);
      if (JSON.stringify(login_users) === '[]') return calls / count;
    }
    throw new Error('Some guests are still there.');
  };
  const few = await callsForEach(100);
  const many = await callsForEach(1_000);
  expect(many).toBeLessThan(few + 0.2);
  expect(many).toBeLessThan(12);
});
