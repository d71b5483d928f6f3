import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createLoginApp } from '../support/login-app.ts';
import { deviceIdsOf, eventually, eventuallyHas, newPerson, newPhone } from '../support/people.ts';
import { unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import { type Fault, failing, isWrite, type StoreCall } from '../support/store-proxy.ts';

const { service, proxy } = await startServiceWithStore();
const { demo } = service;
const appToken = await service.loginAppToken();
// From now on the public signing keys and the mobile application are cached.
await service.register({ platform: 'android', token: unique('phone') }, appToken);

const register = (token: string, installation_id?: string) =>
  service.register({ platform: 'android', token, ...(installation_id && { installation_id }) }, appToken);
const idOf = async (token: string, installation_id?: string): Promise<string> =>
  (await register(token, installation_id)).body.id;

const recipients = async (query: string): Promise<{ device_id: string; login_user_id?: string }[]> =>
  (await service.recipients(query)).body.recipients;
const idsFor = async (loginUserId: string) =>
  (await recipients(`login_user_id=${loginUserId}`)).map(({ device_id }) => device_id);
/** The ids for a person, when one of them is there. */
const idsWith = (id: string, loginUserId: string) =>
  eventually(
    () => idsFor(loginUserId),
    (ids) => ids.includes(id),
  );
const inShards = async () => {
  const shards = Array.from({ length: 16 }, (_, shard) => recipients(`shard=${shard}&limit=1000`));
  return (await Promise.all(shards)).flat();
};
const idsInShards = async () => (await inShards()).map(({ device_id }) => device_id);

/** An installation whose device is a person's, listed as such: they have related it, or it was imported as theirs. */
async function installed(how: 'related' | 'imported' = 'related') {
  const installation = unique('installation');
  const person = await newPerson(service);
  if (how === 'related') {
    await service.relate(await idOf(unique('token'), installation), person.token);
  } else {
    const device = { platform: 'android', token: unique('token'), installation_id: installation };
    const text = JSON.stringify({ ...device, login_user_id: person.loginUserId });
    const devices = [{ line: 1, text, repetition: 1 }];
    await service.operate('devices', 'import', { 'login-app': demo.login_app.login_app_id, devices });
  }
  const ids = await eventuallyHas(1, () => idsFor(person.loginUserId));
  return { installation, person, id: String(ids[0]) };
}
type Installed = Awaited<ReturnType<typeof installed>>;

/** Registers, and has one call of the store go wrong. */
const interrupted = async (at: number, fault: Fault, token: string, installation: string) =>
  (await failing(proxy, [at - 1, fault], () => register(token, installation))).result.status;

describe('a registration of the same installation with another token', () => {
  test('replaces the device and takes over its person', async () => {
    const { installation, person, id } = await installed();
    const next = await register(unique('token'), installation);
    expect(next.status).toBe(201);
    expect(next.body.id).not.toBe(id);
    expect(await eventuallyHas(1, () => idsFor(person.loginUserId))).toEqual([next.body.id]);
    expect(await deviceIdsOf(service, person)).toEqual([next.body.id]);
    const all = await eventually(idsInShards, (ids) => ids.includes(next.body.id));
    expect(all).not.toContain(id);
  });

  test('the device that was replaced cannot be related; registered again, it is nobody’s', async () => {
    const installation = unique('installation');
    const [first, second] = [unique('token'), unique('token')];
    const id = await idOf(first, installation);
    const person = await newPerson(service);
    await service.relate(id, person.token);
    await register(second, installation);
    expect((await service.relate(id, person.token)).status).toBe(404);
    expect((await register(first)).status).toBe(200);
    const listed = await eventually(inShards, (all) => all.some(({ device_id }) => device_id === id));
    expect(listed.find(({ device_id }) => device_id === id)).not.toHaveProperty('login_user_id');
    expect((await service.relate(id, person.token)).status).toBe(200);
  });

  test('the person of the device before goes along, not one from earlier on', async () => {
    const { installation, person } = await installed();
    const [first, second] = [unique('token'), unique('token')];
    const id = await idOf(first, installation);
    const next = await newPerson(service);
    await service.relate(id, next.token);
    const last = await idOf(second, installation);
    expect(await idsWith(last, next.loginUserId)).toEqual([last]);
    expect(await idsFor(person.loginUserId)).toEqual([]);
    // The relation has ended: a third token brings nobody back.
    await service.endRelation(last, next.token);
    await register(second, installation);
    await register(unique('token'), installation);
    expect(await eventuallyHas(0, () => idsFor(next.loginUserId))).toEqual([]);
  });

  test('the same id in another Login App is another installation', async () => {
    const app = await createLoginApp(service, unique('app'), { platforms: ['android'] });
    const { installation, person, id } = await installed();
    const token = await service.loginAppToken(app);
    await service.register({ platform: 'android', token: unique('t'), installation_id: installation }, token);
    expect(await idsFor(person.loginUserId)).toEqual([id]);
  });

  test('of several at once, one device is left', async () => {
    const { installation, person } = await installed();
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => register(unique('token'), installation)),
    );
    const ids = answers.map(({ body }) => body.id);
    const listed = await eventually(idsInShards, (all) => ids.some((id) => all.includes(id)));
    expect(listed.filter((id) => ids.includes(id))).toHaveLength(1);
    expect((await idsFor(person.loginUserId)).length).toBeLessThanOrEqual(1);
  });
});

describe('the requests of a registration', () => {
  const callsOf = async (token: string, installation?: string): Promise<string[]> => {
    proxy.forget();
    await register(token, installation);
    return proxy.calls().map(({ operation }) => operation);
  };

  test('one write without an installation, at most three requests with one', async () => {
    const [installation, first, second] = [unique('installation'), unique('token'), unique('token')];
    expect(await callsOf(first)).toEqual(['UpdateItem']);
    expect(await callsOf(first, installation)).toEqual(['UpdateItem', 'UpdateItem']);
    expect(await callsOf(first, installation)).toEqual(['UpdateItem', 'UpdateItem']);
    expect(await callsOf(second, installation)).toEqual(['UpdateItem', 'UpdateItem', 'UpdateItem']);
    for (let time = 0; time < 3; time += 1) {
      expect(await callsOf(second, installation)).toEqual(['UpdateItem', 'UpdateItem']);
    }
  });

  const faults = ['fails before', 'fails after', 'answer lost'] as const;
  const places = (most: number) =>
    Array.from({ length: most }, (_, place) => faults.map((fault) => [place + 1, fault] as const)).flat();

  /** Registers once more. Then the new device alone is the person's, and gets messages. */
  async function expectFinished({ installation, person, id }: Installed, token: string) {
    expect((await idsFor(person.loginUserId)).length).toBeLessThanOrEqual(1);
    proxy.forget();
    const again = await register(token, installation);
    expect([200, 201]).toContain(again.status);
    expect(proxy.calls().filter(isWrite).length).toBeLessThanOrEqual(4);
    const now = await eventuallyHas(1, () => idsFor(person.loginUserId));
    expect(now).toEqual([again.body.id]);
    const all = await eventually(idsInShards, (ids) => ids.includes(again.body.id));
    expect(all).not.toContain(id);
  }

  describe.each(['related', 'imported'] as const)('of a device that was %s', (how) => {
    test.each(places(3))('request %i %s: the next registration finishes', async (at, fault) => {
      const before = await installed(how);
      const token = unique('token');
      const status = await interrupted(at, fault, token, before.installation);
      expect(status).toBe(fault === 'answer lost' ? 201 : 500);
      await expectFinished(before, token);
    });
  });

  test.each(places(4))(
    'request %i %s while the next registration finishes: the one after it does',
    async (at, fault) => {
      const before = await installed('imported');
      const token = unique('token');
      expect(await interrupted(2, 'fails after', token, before.installation)).toBe(500);
      const status = await interrupted(at, fault, token, before.installation);
      expect(status).toBe(fault === 'answer lost' ? 201 : 500);
      await expectFinished(before, token);
    },
  );

  test('also when the two tokens have taken turns before', async () => {
    const { installation, person } = await installed();
    const [first, second] = [unique('token'), unique('token')];
    for (const token of [first, second, first]) await register(token, installation);
    expect(await interrupted(1, 'fails after', second, installation)).toBe(500);
    const id = await idOf(second, installation);
    expect(await idsWith(id, person.loginUserId)).toEqual([id]);
  });
});

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

/** The same shard after shard, so that a device may move between two of them. */
const oneByOne = async () => {
  const all = [];
  for (let shard = 0; shard < 16; shard += 1) all.push(await recipients(`shard=${shard}&limit=1000`));
  return all.flat();
};

test('a device that moves to another person while a sender reads is never listed for the former one', async () => {
  const first = await newPerson(service);
  const people = [first, await newPerson(service), await newPerson(service)];
  const id = await newPhone(service);
  let owner = first;
  await service.relate(id, owner.token);
  await eventually(oneByOne, (all) => all.some(({ device_id }) => device_id === id));
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
        : oneByOne());
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
