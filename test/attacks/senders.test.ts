import { beforeAll, describe, expect, test } from '@jest/globals';
import { eventually, newPerson, newPhone, type Person } from '../support/people.ts';
import { type Answer, asClient } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import { costOf } from '../support/store-proxy.ts';

/** What a client of a Login App that sends messages may learn and change, at the expense of another Login App. */
const { service, proxy } = await startServiceWithStore();
const { demo } = service;

const recipients = (query: string, client = demo.other_login_app) => service.recipients(query, client);
const disable = (id: string) =>
  service.call(`/v2/marketing/push_notifications/devices/${id}`, {
    method: 'DELETE',
    headers: asClient(demo.other_login_app),
  });

let victim: Person;
let device: string;

beforeAll(async () => {
  victim = await newPerson(service);
  device = await newPhone(service);
  await service.relate(device, victim.token);
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
  expect(listed.body.recipients).toMatchObject([{ device_id: device, login_user_id: victim.loginUserId }]);
}

describe('a sender of another Login App learns nothing, for the cost of nothing', () => {
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
