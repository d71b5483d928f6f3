import { afterEach, describe, expect, test } from '@jest/globals';
import { deviceKey, loginUserKey } from '../../lib/storage/keys.ts';
import { expireItem, itemAt } from '../support/items-about.ts';
import { deviceIdsOf, newPerson, newPhone, type Person } from '../support/people.ts';
import { unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import { type Fault, failing, listsLag, type StoreCall } from '../support/store-proxy.ts';

const own = await sharedServiceWithStore();
const { running, service, proxy } = own;
const appToken = await service.loginAppToken();
afterEach(() => running.resetClock());

const phones = (count: number) =>
  Promise.all(Array.from({ length: count }, () => newPhone(service, appToken)));
const relateEach = async (ids: string[], { token }: Person) => {
  for (const id of ids) expect((await service.relate(id, token)).status).toBe(200);
};
const relateAtOnce = async (ids: string[], { token }: Person) => {
  const answers = await Promise.all(ids.map((id) => service.relate(id, token)));
  return answers.map(({ status }) => status).toSorted();
};

/** A person with a phone of theirs, whose login is not recent any more. */
async function loggedInBefore(related = 1) {
  const person = await newPerson(service);
  const confirmed = await phones(related);
  await relateEach(confirmed, person);
  running.advance(901);
  return { person, confirmed };
}

/**
 * Whether a call is about the person or a device: others fill a cache that is empty after a while.
 */
const isAboutRelation = ({ body }: StoreCall) =>
  /"(LOGIN_USER|DEVICE|DEVICES_OF)#/.test(JSON.stringify(body));

/** The same person after another login. */
const logInAgain = ({ subject }: Person) => newPerson(service, subject);

describe('devices that were related without a recent login', () => {
  test('are nine, even of forty requests at once', async () => {
    const { person, confirmed } = await loggedInBefore();
    const statuses = await relateAtOnce(await phones(40), person);
    expect(statuses).toEqual([...Array(9).fill(200), ...Array(31).fill(401)]);
    const ids = await deviceIdsOf(service, person);
    expect(ids).toHaveLength(10);
    expect(ids).toEqual(expect.arrayContaining(confirmed));
  });

  test('are nine of forty requests at once, also while the index shows none of them', async () => {
    const { person } = await loggedInBefore();
    const ids = await phones(40);
    const statuses = await proxy.during(listsLag, () => relateAtOnce(ids, person));
    expect(statuses).toEqual([...Array(9).fill(200), ...Array(31).fill(401)]);
    expect(await deviceIdsOf(service, person)).toHaveLength(10);
  });

  test('never make more than 20, at once with each other', async () => {
    const { person } = await loggedInBefore(15);
    const statuses = await relateAtOnce(await phones(20), person);
    expect(statuses).toEqual([...Array(5).fill(200), ...Array(15).fill(401)]);
    expect(await deviceIdsOf(service, person)).toHaveLength(20);
  });

  test('lose their place first, whenever they were seen', async () => {
    const { person, confirmed } = await loggedInBefore(11);
    const thiefs = await phones(9);
    await relateEach(thiefs, person);
    const again = await logInAgain(person);
    const [next] = await phones(1);
    await relateEach([String(next)], again);
    const left = await deviceIdsOf(service, again);
    expect(left).toHaveLength(20);
    expect(left).toEqual(expect.arrayContaining([...confirmed, next]));
    const more = await phones(8);
    await relateEach(more, again);
    expect((await deviceIdsOf(service, again)).toSorted()).toEqual(
      [...confirmed, String(next), ...more].toSorted(),
    );
  });

  test('take no place any more when they are related after a login, are given back, or have expired', async () => {
    const { person } = await loggedInBefore();
    const ids = await phones(9);
    await relateEach(ids, person);
    const [confirmed = '', ended = '', expired = '', ...others] = ids;
    const again = await logInAgain(person);
    await relateEach([confirmed], again);
    expect((await service.endRelation(ended, again.token)).status).toBe(204);
    await expireItem(own, deviceKey(expired));
    running.advance(901);
    const more = await phones(4);
    await relateEach(more.slice(0, 3), again);
    expect((await service.relate(String(more[3]), again.token)).status).toBe(401);
    const stored = await itemAt(own, loginUserKey(person.loginUserId));
    expect(stored?.unconfirmed_devices).toBe([...others, ...more.slice(0, 3)].join(' '));
  });

  test('take no further place when their push token changes', async () => {
    const { person } = await loggedInBefore();
    const installations = Array.from({ length: 9 }, () => unique('installation'));
    const register = (installation_id: string) =>
      service.register({ platform: 'android', token: unique('token'), installation_id }, appToken);
    const registered = await Promise.all(installations.map(register));
    await relateEach(
      registered.map(({ body }) => body.id),
      person,
    );
    await Promise.all(installations.map(register));
    const [next = ''] = await phones(1);
    const refused = await proxy.during(listsLag, () => service.relate(next, person.token));
    expect(refused.status).toBe(401);
    expect(await deviceIdsOf(service, person)).toHaveLength(10);
  });

  test('stay confirmed if they were, and cost no more calls than after a login', async () => {
    const { person, confirmed } = await loggedInBefore(1);
    const relate = async (id = '') => {
      proxy.forget();
      const { status } = await service.relate(id, person.token);
      const calls = proxy.calls().filter(isAboutRelation);
      return [status, ...calls.map(({ operation }) => operation)];
    };
    const [id] = await phones(1);
    expect(await relate(id)).toEqual([200, 'BatchGetItem', 'Query', 'TransactWriteItems']);
    for (const known of [id, ...confirmed])
      expect(await relate(known)).toEqual([200, 'BatchGetItem', 'Query', 'UpdateItem']);
    const stored = await itemAt(own, deviceKey(String(confirmed[0])));
    expect(stored).toMatchObject({ confirmed_login_user_id: person.loginUserId });
    expect(await itemAt(own, deviceKey(String(id)))).not.toHaveProperty('confirmed_login_user_id');
  });

  test('may have been somebody else’s, or theirs already though the index does not show it', async () => {
    const { person } = await loggedInBefore();
    const other = await newPerson(service);
    const [id = ''] = await phones(1);
    await relateEach([id], other);
    await relateEach([id], person);
    expect(await deviceIdsOf(service, other)).toEqual([]);
    expect(await deviceIdsOf(service, person)).toContain(id);
    await proxy.during(listsLag, () => relateEach([id], person));
    expect(await deviceIdsOf(service, person)).toContain(id);
  });
});

describe('a relation without a recent login, when a call of the store goes wrong', () => {
  const faults = ['fails before', 'fails after', 'answer lost'] as const;
  const places = [0, 1, 2].flatMap((place) =>
    faults.map((fault): [Fault, number] => [fault, place]),
  );

  test.each(places)(
    '%s, call %i: all of it has happened, or nothing, and it can be repeated',
    async (fault, place) => {
      const { person } = await loggedInBefore();
      const [id = ''] = await phones(1);
      const relate = () => service.relate(id, person.token);
      const { result } = await failing(proxy, [place, fault], relate, isAboutRelation);
      expect(result.status).toBe(fault === 'answer lost' ? 200 : 500);
      const isDone = fault === 'answer lost' || (place === 2 && fault === 'fails after');
      const stored = await itemAt(own, loginUserKey(person.loginUserId));
      expect(stored?.unconfirmed_devices).toBe(isDone ? id : undefined);
      expect((await deviceIdsOf(service, person)).includes(id)).toBe(isDone);
      expect((await relate()).status).toBe(200);
      expect(await deviceIdsOf(service, person)).toContain(id);
    },
  );
});

test('devices related after recent logins, at once and unseen by the index: whoever reads them ends the surplus', async () => {
  const person = await newPerson(service);
  const ids = await phones(25);
  await proxy.during(listsLag, () => relateAtOnce(ids, person));
  expect(await deviceIdsOf(service, person)).toHaveLength(20);
  const owners = await Promise.all(ids.map((id) => itemAt(own, deviceKey(id))));
  expect(owners.filter((device) => device?.login_user_id === person.loginUserId)).toHaveLength(20);
});
