import { afterAll, expect, test } from '@jest/globals';
import { startOwnTable } from '../support/own-table.ts';
import { stopClock } from '../support/standing-clock.ts';

process.env.MAX_SESSIONS = '100';
const table = await startOwnTable();
afterAll(() => table.stop());
const domain = {
  ...(await import('../../lib/devices/register-device.ts')),
  ...(await import('../../lib/devices/relate-device.ts')),
  ...(await import('../../lib/devices/related-devices.ts')),
  ...(await import('../../lib/devices/recipients.ts')),
  ...(await import('../../lib/login-apps/create-login-app.ts')),
  ...(await import('../../lib/login-apps/mobile-applications.ts')),
  ...(await import('../../lib/people/sessions/log-in.ts')),
  ...(await import('../../lib/storage/shards.ts')),
  ...(await import('../../lib/login-users/login-user.ts')),
};

const day = 24 * 60 * 60 * 1000;
const pass = stopClock();

const newLoginApp = async () => {
  const { login_app_id } = await domain.createLoginApp('Test');
  await domain.setMobileApplication(login_app_id, 'android');
  return { login_app_id };
};
/** A Login User who has logged in. */
const person = async (login_app_id: string, login_user_id: string, sessionId: string) => {
  await domain.recordLogin(
    { loginUserId: login_user_id },
    {
      loginAppId: login_app_id,
      provider: 'provider_f',
      verified: { namespace: 'n', subject: login_user_id },
    },
    sessionId,
  );
  const user = await domain.readLoginUser(login_user_id);
  return {
    loginAppId: login_app_id,
    loginUserId: login_user_id,
    sessionId,
    loggedInAt: Date.parse(user?.last_login_at ?? '') / 1000,
    user,
    isDeleted: false,
  };
};
const idsOf = async (loginUserId: string) =>
  (await domain.readRelatedDevices(loginUserId)).map(({ device_id }) => device_id).toSorted();

test('a device not seen for 270 days is stale: shown to its owner, not listed for sending', async () => {
  const loginApp = await newLoginApp();
  const { id } = await domain.registerDevice(loginApp.login_app_id, { platform: 'android', token: 'old' });
  await domain.relateDevice(await person(loginApp.login_app_id, 'lu_dave', 's_dave'), id);
  const sendable = async () => {
    const pages = await Promise.all(
      domain.shards.map((shard) => domain.recipientsOfLoginApp(loginApp.login_app_id, shard, { limit: 10 })),
    );
    const everyone = pages.flatMap(({ recipients }) => recipients);
    return { one: await domain.recipientsOfLoginUser('lu_dave'), everyone };
  };
  const recipient = {
    device_id: id,
    platform: 'android',
    token: 'old',
    login_user_id: 'lu_dave',
  };
  pass(270 * day);
  expect(await sendable()).toMatchObject({ one: [recipient], everyone: [recipient] });
  pass(1);
  expect(await sendable()).toEqual({ one: [], everyone: [] });
  expect((await domain.listDevices('lu_dave')).devices).toMatchObject([{ id, active: false }]);

  await domain.registerDevice(loginApp.login_app_id, { platform: 'android', token: 'old' });
  expect(await sendable()).toMatchObject({ one: [recipient], everyone: [recipient] });
  expect((await domain.listDevices('lu_dave')).devices).toMatchObject([{ id, active: true }]);
});

test('the devices of a Login App spread over its shards, each read alone, each device in one of them', async () => {
  const loginApp = await newLoginApp();
  const registered = await Promise.all(
    Array.from({ length: 96 }, (_, number) =>
      domain.registerDevice(loginApp.login_app_id, { platform: 'android', token: `spread ${number}` }),
    ),
  );
  const readShard = (shard: number) =>
    domain.recipientsOfLoginApp(loginApp.login_app_id, shard, { limit: 100 });
  const found = (await Promise.all(domain.shards.map(readShard))).map(({ recipients }) =>
    recipients.map(({ device_id }) => device_id),
  );
  expect(found.flat().toSorted()).toEqual(registered.map(({ id }) => id).toSorted());
  const sizes = found.map(({ length }) => length);
  // Six are expected in each of the 16; a hash that misses four of them, or puts 24 into one, is none.
  expect(sizes.filter((size) => size > 0).length).toBeGreaterThan(12);
  expect(Math.max(...sizes)).toBeLessThan(24);
});

test('a place in a shard that is stale by now continues with what is active', async () => {
  const { login_app_id } = await newLoginApp();
  const register = (token: string) => domain.registerDevice(login_app_id, { platform: 'android', token });
  for (let number = 0; number < 40; number += 1) await register(`ages ${number}`);
  const pages = await Promise.all(
    domain.shards.map((shard) => domain.recipientsOfLoginApp(login_app_id, shard, { limit: 1 })),
  );
  const shard = pages.findIndex(({ next }) => next !== undefined);
  const { next: after } = pages[shard] ?? {};
  expect(after).toBeDefined();
  pass(271 * day);
  const rest = () => domain.recipientsOfLoginApp(login_app_id, shard, { limit: 100, after });
  expect(await rest()).toEqual({ recipients: [], next: undefined });
  for (let number = 0; number < 40; number += 1) await register(`ages ${number}`);
  const all = await domain.recipientsOfLoginApp(login_app_id, shard, { limit: 100 });
  expect(all.recipients).not.toEqual([]);
  expect(await rest()).toEqual(all);
});

test('at the limit, five relations at once leave the 20 devices seen last', async () => {
  const loginApp = await newLoginApp();
  const alice = await person(loginApp.login_app_id, 'lu_limit', 's_limit');
  const ids: string[] = [];
  for (let number = 0; number < 25; number += 1) {
    pass(1);
    ids.push(
      (await domain.registerDevice(loginApp.login_app_id, { platform: 'android', token: `limit ${number}` }))
        .id,
    );
  }
  for (const id of ids.slice(0, 20)) await domain.relateDevice(alice, id);
  await Promise.all(ids.slice(20).map((id) => domain.relateDevice(alice, id)));
  expect(await idsOf('lu_limit')).toEqual(ids.slice(5).toSorted());
});
