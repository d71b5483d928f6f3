import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { deviceIdOf } from '../../lib/devices/register-device.ts';
import { deviceKey, installationKey } from '../../lib/storage/keys.ts';
import { expireItem, itemAt, setAttributes } from '../support/items-about.ts';
import { createLoginApp } from '../support/login-app.ts';
import {
  deviceIdsOf,
  eventually,
  eventuallyHas,
  newPerson,
  newPhone,
  type Person,
} from '../support/people.ts';
import { unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import { type Fault, failing, type StoreCall } from '../support/store-proxy.ts';

const own = await startServiceWithStore();
const { service, proxy } = own;
const { demo } = service;
const appToken = await service.loginAppToken();
// From now on the public signing keys and the mobile application are cached.
await service.register({ platform: 'android', token: unique('phone') }, appToken);

const register = (token: string, installation_id?: string) =>
  service.register(
    { platform: 'android', token, ...(installation_id && { installation_id }) },
    appToken,
  );
const idOf = async (token: string, installation_id?: string): Promise<string> =>
  (await register(token, installation_id)).body.id;

const recipients = async (
  query: string,
): Promise<{ device_id: string; login_user_id?: string }[]> =>
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

/**
 * An installation whose device is a person's, listed as such: they have related it, or it was
 * imported as theirs.
 */
async function installed(how: 'related' | 'imported' = 'related') {
  const installation = unique('installation');
  const person = await newPerson(service);
  if (how === 'related') {
    await service.relate(await idOf(unique('token'), installation), person.token);
  } else {
    const device = { platform: 'android', token: unique('token'), installation_id: installation };
    const text = JSON.stringify({ ...device, login_user_id: person.loginUserId });
    const devices = [{ line: 1, text, repetition: 1 }];
    await service.operate('devices', 'import', {
      'login-app': demo.login_app.login_app_id,
      devices,
    });
  }
  const ids = await eventuallyHas(1, () => idsFor(person.loginUserId));
  return { installation, person, id: String(ids[0]) };
}

const faults = ['fails before', 'fails after', 'answer lost'] as const;
/** Each of so many calls, with each fault. */
const places = (most: number) =>
  Array.from({ length: most }, (_, place) =>
    faults.map((fault) => [place + 1, fault] as const),
  ).flat();

/** Whether a call is about devices: others fill a cache that is empty after a while. */
const isAboutDevices = ({ body }: StoreCall) =>
  /"(DEVICE|INSTALLATION)#/.test(JSON.stringify(body));

/** Registers, and has one call of the store go wrong. */
const interrupted = async (at: number, fault: Fault, token: string, installation: string) => {
  const place = [at - 1, fault] as const;
  const { result } = await failing(
    proxy,
    place,
    () => register(token, installation),
    isAboutDevices,
  );
  return result.status;
};

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
    const listed = await eventually(inShards, (all) =>
      all.some(({ device_id }) => device_id === id),
    );
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
    await service.register(
      { platform: 'android', token: unique('t'), installation_id: installation },
      token,
    );
    expect(await idsFor(person.loginUserId)).toEqual([id]);
  });

  test('of twenty at once, one device is left, and it is the person’s', async () => {
    const { installation, person } = await installed();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => register(unique('token'), installation)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(201));
    const ids = answers.map(({ body }) => body.id);
    const listed = await eventually(idsInShards, (all) => ids.some((id) => all.includes(id)));
    const left = listed.filter((id) => ids.includes(id));
    expect(left).toHaveLength(1);
    expect(await idsWith(String(left[0]), person.loginUserId)).toEqual(left);
  });

  test('of twenty at once with the same token, one says that the device is new', async () => {
    const { installation, person } = await installed();
    const token = unique('token');
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => register(token, installation)),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([...Array(19).fill(200), 201]);
    const id = answers[0]?.body.id;
    expect(await idsWith(id, person.loginUserId)).toEqual([id]);
  });
});

describe('the requests of a registration', () => {
  const callsOf = async (token: string, installation?: string): Promise<string[]> => {
    proxy.forget();
    await register(token, installation);
    const calls = proxy.calls().filter(isAboutDevices);
    return calls.map(({ operation }) => operation);
  };

  test('one write without an installation; a read and a write with one; three for another token', async () => {
    const [installation, first, second] = [
      unique('installation'),
      unique('token'),
      unique('token'),
    ];
    expect(await callsOf(first)).toEqual(['UpdateItem']);
    expect(await callsOf(first, installation)).toEqual(['BatchGetItem', 'TransactWriteItems']);
    expect(await callsOf(first, installation)).toEqual(['BatchGetItem', 'UpdateItem']);
    expect(await callsOf(second, installation)).toEqual([
      'BatchGetItem',
      'GetItem',
      'TransactWriteItems',
    ]);
    for (let time = 0; time < 3; time += 1)
      expect(await callsOf(second, installation)).toEqual(['BatchGetItem', 'UpdateItem']);
    // The token of another phone: now the installation is shared.
    expect(await callsOf(first, installation)).toEqual([
      'BatchGetItem',
      'GetItem',
      'TransactWriteItems',
    ]);
    for (const token of [first, second])
      expect(await callsOf(token, installation)).toEqual(['BatchGetItem', 'UpdateItem']);
  });

  test('the installation outlives its device, though most registrations do not write it', async () => {
    const [installation, token] = [unique('installation'), unique('token')];
    const deviceId = await idOf(token, installation);
    const key = installationKey(demo.login_app.login_app_id, installation);
    const outlives = async () => {
      const [owner, device] = [await itemAt(own, key), await itemAt(own, deviceKey(deviceId))];
      return Number(owner?.expires_at) > Number(device?.expires_at);
    };
    expect(await outlives()).toBe(true);
    await expireItem(own, key, 399 * 86_400);
    expect(await callsOf(token, installation)).toEqual(['BatchGetItem', 'TransactWriteItems']);
    expect(await outlives()).toBe(true);
  });

  describe.each(['related', 'imported'] as const)('of a device that was %s', (how) => {
    test.each(places(3))('call %i %s: all of it has happened, or nothing', async (at, fault) => {
      const { installation, person, id } = await installed(how);
      const token = unique('token');
      const status = await interrupted(at, fault, token, installation);
      expect(status).toBe(fault === 'answer lost' ? 201 : 500);
      const isDone = fault === 'answer lost' || (at === 3 && fault === 'fails after');
      const owned = await eventuallyHas(1, () => idsFor(person.loginUserId));
      expect(owned.includes(id)).toBe(!isDone);
      const again = await register(token, installation);
      expect(again.status).toBe(isDone ? 200 : 201);
      expect(await idsWith(again.body.id, person.loginUserId)).toEqual([again.body.id]);
      const all = await eventually(idsInShards, (ids) => ids.includes(again.body.id));
      expect(all).not.toContain(id);
    });
  });
});

describe('two phones with the same installation id', () => {
  /** Somebody has logged in on a phone, then another one registers with the id from its backup. */
  async function restored() {
    const installation = unique('installation');
    const [tokenA, tokenB] = [unique('token'), unique('token')];
    const person = await newPerson(service);
    const a = await idOf(tokenA, installation);
    await service.relate(a, person.token);
    const b = await idOf(tokenB, installation);
    expect(await idsWith(b, person.loginUserId)).toEqual([b]);
    return { installation, person, tokenA, tokenB, a, b };
  }
  const shownTo = async ({ loginUserId }: Person, id: string) =>
    (await idsFor(loginUserId)).includes(id);
  /** Whether messages to everybody go to both devices. */
  const expectBothActive = async (...ids: string[]) => {
    const listed = await eventually(idsInShards, (all) => ids.every((id) => all.includes(id)));
    expect(listed).toEqual(expect.arrayContaining(ids));
  };

  test('the replaced push token comes back: both devices stay, and messages go to where the person has logged in', async () => {
    const { installation, person, tokenA, tokenB, a, b } = await restored();
    expect((await register(tokenA, installation)).status).toBe(200);
    expect(await idsWith(a, person.loginUserId)).toEqual([a]);
    for (const token of [tokenB, tokenA, tokenB, unique('token')]) {
      await register(token, installation);
      expect(await idsFor(person.loginUserId)).toEqual([a]);
    }
    await expectBothActive(a, b);
    expect(await service.operate('devices', 'show', { device: a })).toMatchObject({
      installation_shared: true,
    });
  });

  test('a login on either phone is about that phone alone', async () => {
    const { installation, tokenA, tokenB, a, b } = await restored();
    await register(tokenA, installation);
    const [anna, bert] = [await newPerson(service), await newPerson(service)];
    await service.relate(a, anna.token);
    await service.relate(b, bert.token);
    for (const token of [tokenA, tokenB, tokenA]) {
      await register(token, installation);
      expect(await idsWith(a, anna.loginUserId)).toEqual([a]);
      expect(await idsWith(b, bert.loginUserId)).toEqual([b]);
    }
  });

  test('who has logged in on the restored phone stays there; the former person is related at the next login', async () => {
    const { installation, person, tokenA, a, b } = await restored();
    const next = await newPerson(service);
    await service.relate(b, next.token);
    await register(tokenA, installation);
    expect(await idsWith(b, next.loginUserId)).toEqual([b]);
    expect(await idsFor(person.loginUserId)).toEqual([]);
    await service.relate(a, person.token);
    expect(await idsWith(a, person.loginUserId)).toEqual([a]);
  });

  test('the same person on both phones gets messages on both', async () => {
    const { installation, person, tokenA, a, b } = await restored();
    await service.relate(b, (await newPerson(service, person.subject)).token);
    await register(tokenA, installation);
    await service.relate(a, person.token);
    expect((await eventuallyHas(2, () => idsFor(person.loginUserId))).toSorted()).toEqual(
      [a, b].toSorted(),
    );
  });

  test('a relation that moved twice, perhaps between phones, is given to neither', async () => {
    const { installation, person, tokenB } = await restored();
    // This may be the first phone with a new push token, or the second one.
    const c = await idOf(unique('token'), installation);
    expect(await idsWith(c, person.loginUserId)).toEqual([c]);
    await register(tokenB, installation);
    expect(await eventuallyHas(0, () => idsFor(person.loginUserId))).toEqual([]);
  });

  test('the phone whose push token changed before the other one came gets its person again', async () => {
    const { installation, person, tokenB, b } = await restored();
    await service.relate(b, person.token);
    await register(unique('token'), installation);
    await register(tokenB, installation);
    expect(await idsWith(b, person.loginUserId)).toEqual([b]);
  });

  test('a logout ends the relation wherever it is', async () => {
    const { installation, person, tokenA, a, b } = await restored();
    expect((await service.revoke(person.refreshToken)).status).toBe(200);
    await register(tokenA, installation);
    for (const id of [a, b]) expect(await shownTo(person, id)).toBe(false);
  });

  test('the proof counts also when the first phone was off for longer than its device is kept', async () => {
    const { installation, person, tokenA, a } = await restored();
    await expireItem(own, deviceKey(a));
    expect((await register(tokenA, installation)).status).toBe(201);
    expect(await idsWith(a, person.loginUserId)).toEqual([a]);
    expect(await service.operate('devices', 'show', { device: a })).toMatchObject({
      installation_shared: true,
    });
  });

  test.each(places(3))(
    'call %i of the proof %s: all of it has happened, or nothing',
    async (at, fault) => {
      const { installation, person, tokenA, a, b } = await restored();
      const status = await interrupted(at, fault, tokenA, installation);
      expect(status).toBe(fault === 'answer lost' ? 200 : 500);
      const isDone = fault === 'answer lost' || (at === 3 && fault === 'fails after');
      expect(await idsFor(person.loginUserId)).toEqual([isDone ? a : b]);
      expect((await register(tokenA, installation)).status).toBe(200);
      expect(await idsWith(a, person.loginUserId)).toEqual([a]);
      await expectBothActive(a, b);
    },
  );

  test('twenty registrations at once of both: both stay, and the person has the one that they logged in on', async () => {
    const { installation, person, tokenA, tokenB, a, b } = await restored();
    const tokens = Array.from({ length: 20 }, (_, number) => (number % 2 === 0 ? tokenA : tokenB));
    const answers = await Promise.all(tokens.map((token) => register(token, installation)));
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    await register(tokenA, installation);
    expect(await idsWith(a, person.loginUserId)).toEqual([a]);
    await expectBothActive(a, b);
  });
});

describe('a login that happens while the installation changes', () => {
  /** Registers, and has somebody act just before one of its calls, from 1. */
  async function registerAfter(
    act: () => Promise<{ status: number }>,
    at: number,
    ...device: string[]
  ) {
    let seen = 0;
    const hook = async (call: StoreCall) => {
      if (!isAboutDevices(call)) return undefined;
      seen += 1;
      if (seen === at) expect((await act()).status).toBeLessThan(300);
      return undefined;
    };
    const [token = '', installation] = device;
    return (await proxy.during(hook, () => register(token, installation))).body.id;
  }
  const calls = [1, 2, 3];

  test.each(calls)('before call %i of the replacement: the person goes along', async (at) => {
    const { installation, person, id } = await installed();
    const next = await newPerson(service);
    const relate = () => service.relate(id, next.token);
    const replaced = await registerAfter(relate, at, unique('token'), installation);
    expect(await idsWith(replaced, next.loginUserId)).toEqual([replaced]);
    expect(await idsFor(person.loginUserId)).toEqual([]);
    expect((await service.relate(id, next.token)).status).toBe(404);
  });

  test.each(calls)('an end of the relation before call %i: nobody goes along', async (at) => {
    const { installation, person, id } = await installed();
    const end = () => service.endRelation(id, person.token);
    await registerAfter(end, at, unique('token'), installation);
    expect(await eventuallyHas(0, () => idsFor(person.loginUserId))).toEqual([]);
  });

  test.each(calls)(
    'on the restored phone, before call %i of the proof: the person stays there',
    async (at) => {
      const installation = unique('installation');
      const [tokenA, tokenB] = [unique('token'), unique('token')];
      const [person, next] = [await newPerson(service), await newPerson(service)];
      await service.relate(await idOf(tokenA, installation), person.token);
      const b = await idOf(tokenB, installation);
      await registerAfter(() => service.relate(b, next.token), at, tokenA, installation);
      expect(await idsWith(b, next.loginUserId)).toEqual([b]);
      expect(await idsFor(person.loginUserId)).toEqual([]);
    },
  );
});

describe('what 1.0.0 has left', () => {
  /** A person's device, and the installation as 1.0.0 wrote it for the next token. */
  async function leftOver() {
    const { installation, person, id } = await installed();
    const token = unique('token');
    const next = deviceIdOf(demo.login_app.login_app_id, { platform: 'android', token });
    const owner = installationKey(demo.login_app.login_app_id, installation);
    await setAttributes(own, owner, {
      device_id: next,
      previous_device_id: id,
      earlier_device_id: id,
    });
    await expireItem(own, owner, 400 * 86_400 - 1);
    return { installation, owner, person, id, token, next };
  }

  test('a registration that died before it replaced the device: the next one does', async () => {
    const { installation, owner, person, token, next } = await leftOver();
    expect((await register(token, installation)).status).toBe(201);
    expect(await idsWith(next, person.loginUserId)).toEqual([next]);
    const stored = await itemAt(own, owner);
    expect(stored).toMatchObject({ device_id: next });
    for (const name of ['previous_device_id', 'earlier_device_id'])
      expect(stored).not.toHaveProperty(name);
  });

  test('one that died before it wrote the new device: the next one does, and the person is related again', async () => {
    const { installation, person, id, token, next } = await leftOver();
    await setAttributes(own, deviceKey(id), { replaced_by: next });
    expect((await register(token, installation)).status).toBe(201);
    expect((await service.relate(next, person.token)).status).toBe(200);
    expect(await idsWith(next, person.loginUserId)).toContain(next);
  });

  test('a device that it replaced comes back: a relation that may have moved ends', async () => {
    const { installation, person, id } = await installed();
    const token = unique('token');
    const current = await idOf(token, installation);
    await setAttributes(own, deviceKey(current), { took_over: id });
    await setAttributes(own, installationKey(demo.login_app.login_app_id, installation), {
      replaced_device_ids: [],
      previous_device_id: id,
    });
    const first = (await itemAt(own, deviceKey(id)))?.token;
    await register(String(first), installation);
    expect(await eventuallyHas(0, () => idsFor(person.loginUserId))).toEqual([]);
  });

  test('a device that gets another person with the installation keeps nothing of its earlier link', async () => {
    const { installation, person, id } = await installed();
    const token = unique('token');
    const next = await idOf(token);
    await service.relate(next, (await newPerson(service)).token);
    // This was about the earlier link. Left behind, it would put the new one in doubt.
    await setAttributes(own, deviceKey(next), { took_over: 'another' });
    await register(token, installation);
    expect(await idsWith(next, person.loginUserId)).toEqual([next]);
    const first = (await itemAt(own, deviceKey(id)))?.token;
    await register(String(first), installation);
    expect(await idsWith(id, person.loginUserId)).toEqual([id]);
  });
});

/**
 * Has the device move just before the sender's read of the index, or of the devices that the index
 * shows.
 */
function moveBefore(
  read: 'Query' | 'BatchGetItem',
  id: string,
  move: () => Promise<unknown>,
): void {
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
  for (let shard = 0; shard < 16; shard += 1)
    all.push(await recipients(`shard=${shard}&limit=1000`));
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
