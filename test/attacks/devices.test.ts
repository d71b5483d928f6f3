import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { deviceKey } from '../../lib/storage/keys.ts';
import { table } from '../../lib/storage/table.ts';
import { itemAt } from '../support/items-about.ts';
import { deviceIdsOf, eventually, eventuallyHas, newPerson, newPhone } from '../support/people.ts';
import { type Answer, asClient, sharedService, unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import { costOf } from '../support/store-proxy.ts';

const own = await sharedServiceWithStore();
const { running, service, proxy } = own;
const day = 86_400;
afterEach(() => running.resetClock());

/** Push tokens of phones that nobody uses any more must not be kept for ever. */
test('[finding] a device expires 400 days after its last registration; each one moves the end', async () => {
  const device = { platform: 'android', token: unique('phone') };
  const register = async () =>
    (await service.register(device, await service.loginAppToken())).body.id;
  const expiryOf = async (id: string) =>
    Number((await itemAt(own, deviceKey(id)))?.[table.timeToLive]);
  const id = await register();
  const first = await expiryOf(id);
  expect(Math.abs(first - (Date.now() / 1000 + 400 * day))).toBeLessThan(60);
  running.advance(30 * day);
  expect(await register()).toBe(id);
  expect((await expiryOf(id)) - first).toBeGreaterThanOrEqual(30 * day);
});

/** That it is another's is the interface's 403; the cost tells no more. */
test('[CWE-204] a device of another Login App costs no other calls to the store than an unknown one', async () => {
  const foreign = await newPhone(
    service,
    await service.loginAppToken(service.demo.other_login_app),
  );
  // No id token, since this service's clock may not agree with that of the provider.
  const { access_token } = (await service.logIn(unique('person'), 'provider_d')).body;
  const relate = async (id: string) => {
    const { status, calls } = await costOf(proxy, () => service.relate(id, access_token));
    return { status, calls: calls.map(({ operation }) => operation) };
  };
  const unknown = `d_${'A'.repeat(43)}`;
  // The first one may read the status of the Login App, which is cached then.
  await relate(unknown);
  const [theirs, none] = [await relate(foreign), await relate(unknown)];
  expect([theirs.status, none.status]).toEqual([403, 404]);
  expect(none.calls).toEqual(['BatchGetItem', 'UpdateItem', 'GetItem']);
  // DynamoDB returns the item with the failed condition, so it is not read again.
  expect(none.calls.slice(0, theirs.calls.length)).toEqual(theirs.calls);
  expect(theirs.calls).toContain('UpdateItem');
});

test('[CWE-613] a stolen token of an old login takes no messages from the phone, even with 20 devices at once', async () => {
  const { access_token } = (await service.logIn(unique('person'), 'provider_d')).body;
  const login_user_id = decodeJwt(access_token).sub;
  const phone = await newPhone(service);
  await service.relate(phone, access_token);
  const thiefs = await Promise.all(Array.from({ length: 25 }, () => newPhone(service)));
  running.advance(901);
  await Promise.all(thiefs.slice(0, 20).map((id) => service.relate(id, access_token)));
  for (const id of thiefs) await service.relate(id, access_token);
  const { body } = await service.recipients(`login_user_id=${login_user_id}`);
  expect(body.recipients).toContainEqual(expect.objectContaining({ device_id: phone }));
  expect((await service.listDevices(access_token)).text).toContain(phone);
  running.resetClock();
});

/** Its clock agrees with that of the provider. */
const shared = sharedService();
const [owner, stranger] = [await newPerson(shared), await newPerson(shared)];
const owned = await newPhone(shared);
await shared.relate(owned, owner.token);

describe('a device of somebody else', () => {
  /** The index behind the list lags a moment behind. */
  const expectOwned = async () => {
    expect(await eventuallyHas(1, () => deviceIdsOf(shared, owner))).toEqual([owned]);
    expect(await deviceIdsOf(shared, stranger)).toEqual([]);
  };

  test.each(['..%2f..%2fdevices', '%2e%2e', '%00', '*', 'd_%23LOGIN_USER', '__proto__'])(
    '[OWASP API1 2023] is not reached by the path %s',
    async (path) => {
      expect((await shared.endRelation(path, stranger.token)).status).toBe(404);
      await expectOwned();
    },
  );

  test('[OWASP API3 2023] does not come by fields that belong to the service', async () => {
    const token = unique('phone');
    const more = {
      id: owned,
      login_user_id: stranger.loginUserId,
      login_app_id: 'la_x',
      pk: 'x',
      disabled_at: 'x',
    };
    const device = { platform: 'android', token, ...more };
    const { status, body } = await shared.register(device, await shared.loginAppToken());
    expect([status, Object.keys(body)]).toEqual([201, ['id']]);
    expect(body.id).not.toBe(owned);
    await expectOwned();
  });
});

const victim = await newPerson(service);
const device = await newPhone(service);
await service.relate(device, victim.token);

/**
 * What a client of a Login App that sends messages may learn and change, at the expense of another
 * Login App.
 */
describe('a sender of another Login App learns nothing, for the cost of nothing', () => {
  const { demo } = service;

  const recipients = (query: string, client = demo.other_login_app) =>
    service.recipients(query, client);
  const disable = (id: string) =>
    service.call(`/v2/marketing/push_notifications/devices/${id}`, {
      method: 'DELETE',
      headers: asClient(demo.other_login_app),
    });

  beforeAll(async () => {
    await expectListed();
    // From now on the client and the status of the other Login App are cached.
    await recipients('login_user_id=nobody');
    await disable(`d_${'A'.repeat(43)}`);
  });

  /** The index behind the list lags a moment behind. */
  async function expectListed(): Promise<void> {
    const listed = await eventually<Answer>(
      () => recipients(`login_user_id=${victim.loginUserId}`, demo.login_app),
      ({ body }) => body.recipients.length === 1,
    );
    expect(listed.body.recipients).toMatchObject([
      { device_id: device, login_user_id: victim.loginUserId },
    ]);
  }

  test('[finding] of a person: one small read, as for one that does not exist', async () => {
    const costFor = async (id: string) => {
      const { calls, ...answer } = await costOf(proxy, () => recipients(`login_user_id=${id}`));
      // DynamoDB charges one unit for a query that finds nothing; the store in memory charges none.
      return { ...answer, calls: calls.map(({ operation, bytes }) => ({ operation, bytes })) };
    };
    const foreign = await costFor(victim.loginUserId);
    expect(foreign).toMatchObject({ status: 200, text: '{"recipients":[]}' });
    expect(foreign.calls).toEqual([{ operation: 'Query', bytes: expect.any(Number) }]);
    expect(foreign).toEqual(await costFor(`lu_${'A'.repeat(43)}`));
  });

  test('[finding] of a device that it disables: the same calls, as for one that does not exist', async () => {
    const foreign = await costOf(proxy, () => disable(device));
    expect(foreign.status).toBe(404);
    expect(foreign).toEqual(await costOf(proxy, () => disable(`d_${'A'.repeat(43)}`)));
    await expectListed();
  });
});
