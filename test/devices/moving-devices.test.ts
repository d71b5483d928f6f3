import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { eventually, newPerson, newPhone } from '../support/people.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import type { StoreCall } from '../support/store-proxy.ts';

const { service, proxy } = await startServiceWithStore();

const recipients = async (query: string): Promise<{ device_id: string; login_user_id?: string }[]> => {
  const { status, body } = await service.recipients(query);
  expect(status).toBe(200);
  return body.recipients;
};
const everyone = async () => {
  const shards = [];
  for (let shard = 0; shard < 16; shard += 1) shards.push(await recipients(`shard=${shard}&limit=1000`));
  return shards.flat();
};

/** Has the device move just before the sender's read of the index, or of the devices that the index shows. */
function moveBefore(read: 'Query' | 'BatchGetItem', id: string, move: () => Promise<unknown>): void {
  let began = false;
  proxy.hook = async ({ operation, body }: StoreCall) => {
    const isRead = operation === read && (read === 'Query' || JSON.stringify(body).includes(id));
    if (began || !isRead) return undefined;
    began = true;
    await move();
    return undefined;
  };
}

test('a device that moves to another person while a sender reads is never listed for the former one', async () => {
  const first = await newPerson(service);
  const people = [first, await newPerson(service), await newPerson(service)];
  const id = await newPhone(service);
  let owner = first;
  await service.relate(id, owner.token);
  await eventually(everyone, (all) => all.some(({ device_id }) => device_id === id));
  const property = fc.asyncProperty(
    fc.nat(2),
    fc.constantFrom('Query' as const, 'BatchGetItem' as const),
    fc.constantFrom('person', 'shards'),
    async (number, read, asked) => {
      const former = owner;
      const next = people[number] ?? former;
      moveBefore(read, id, async () => {
        owner = next;
        expect((await service.relate(id, next.token)).status).toBe(200);
      });
      const listed = await (asked === 'person'
        ? recipients(`login_user_id=${former.loginUserId}`)
        : everyone());
      proxy.hook = () => undefined;
      const found = listed.filter(({ device_id }) => device_id === id);
      const isStillTheirs = owner.loginUserId === former.loginUserId;
      expect(found.map(({ login_user_id }) => login_user_id)).toEqual(
        asked === 'shards' || isStillTheirs ? [owner.loginUserId] : [],
      );
    },
  );
  await fc.assert(property, { numRuns: 25, seed: 1 });
});
