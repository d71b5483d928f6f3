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
  ...(await import('../../lib/login-apps/login-app.ts')),
  ...(await import('../../lib/login-apps/mobile-applications.ts')),
  ...(await import('../../lib/people/identities/identity-index.ts')),
  ...(await import('../../lib/people/sessions/log-in.ts')),
  ...(await import('../../lib/storage/table.ts')),
  ...(await import('../../lib/storage/lists.ts')),
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
    domain.ownerOfFirst(login_user_id),
    {
      loginAppId: login_app_id,
      provider: 'provider_f',
      verified: { namespace: 'n', subject: login_user_id },
      mayCreate: true,
    },
    sessionId,
  );
  const user = await domain.readLoginUser(login_user_id);
  return {
    loginAppId: login_app_id,
    loginUserId: login_user_id,
    sessionId,
    isPublic: false,
    loggedInAt: Date.parse(user?.last_login_at ?? '') / 1000,
    clientId: '',
    acr: undefined,
    user,
    isDeleted: false,
  };
};
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
