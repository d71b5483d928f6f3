import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { deviceKey, loginUserKey, sessionKey } from '../../lib/storage/keys.ts';
import { expectAnswer, expectError } from '../support/expectations.ts';
import { expireItem, itemAt, removeItem } from '../support/items-about.ts';
import { createLoginApp, type LoginApp } from '../support/login-app.ts';
import { deviceIdsOf, eventually, newPerson, newPhone, type Person } from '../support/people.ts';
import { newPhone as newKeyHolder, newPublicClient } from '../support/phone.ts';
import { type Answer, unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import { failing, listsLag } from '../support/store-proxy.ts';

const own = await startServiceWithStore();
const { running, service } = own;

/** A phone that is registered, and a person who is logged in on it. */
async function phone() {
  const id = await newPhone(service);
  const person = await newPerson(service);
  const relate = ({ token } = person) => service.relate(id, token);
  const logOut = () => service.revoke(person.refreshToken);
  const recipients = async () =>
    (await service.operate('devices', 'list', { 'login-user': person.loginUserId })).devices;
  /** Does something just before anything else is written about the phone. */
  const first = (act: () => Promise<Answer>) => {
    own.proxy.hook = async ({ operation, body }) => {
      if (operation !== 'UpdateItem' || !JSON.stringify(body).includes(id)) return undefined;
      own.proxy.hook = () => undefined;
      expect((await act()).status).toBe(200);
      return undefined;
    };
  };
  /** Has another session of the person relate the phone first. */
  const relateFirst = async () => {
    const other = await newPerson(service, person.subject);
    first(() => relate(other));
  };
  return { id, person, relate, logOut, recipients, first, relateFirst };
}

describe('after a logout nothing of the person goes to the phone', () => {
  test('also when a relation was still being written', async () => {
    const { relate, logOut, recipients, first } = await phone();
    first(logOut);
    expect((await relate()).status).toBe(200);
    expect(await recipients()).toEqual([]);
    expect(await recipients()).toEqual([]);
  });

  test('also when the index that finds the devices lags behind', async () => {
    const { relate, logOut, recipients } = await phone();
    expect((await relate()).status).toBe(200);
    expect((await own.proxy.during(listsLag, logOut)).status).toBe(200);
    expect(await recipients()).toEqual([]);
  });

  test('for as long as a phone may come back: the mark of the ended session outlives every phone', async () => {
    const { person, logOut } = await phone();
    await logOut();
    const item = await itemAt(own, sessionKey(person.loginUserId, person.sessionId));
    const secondsLeft = Number(item?.expires_at) - Date.now() / 1000;
    expect(secondsLeft).toBeGreaterThan(270 * 86_400);
  });

  test('while another session that relates the phone at that moment keeps it', async () => {
    const { id, relate, logOut, recipients, relateFirst } = await phone();
    await relate();
    await relateFirst();
    expect((await logOut()).status).toBe(200);
    expect(await recipients()).toEqual([expect.objectContaining({ device_id: id })]);
  });

  test('also one that relates it when the leftover relation is just found', async () => {
    const { id, relate, logOut, recipients, relateFirst } = await phone();
    await relate();
    expect((await own.proxy.during(listsLag, logOut)).status).toBe(200);
    await relateFirst();
    expect(await recipients()).toEqual([]);
    expect(await recipients()).toEqual([expect.objectContaining({ device_id: id })]);
  });
});

describe('after a Login User is deleted while the index lags behind', () => {
  /** A phone whose relation the deletion of its owner did not find. */
  async function missed() {
    const app = await createLoginApp(service, unique('app'), {
      platforms: ['android'],
      providers: ['provider_f'],
    });
    const person = await newPerson(service, unique('alice'), app);
    const id = await newPhone(service, await service.loginAppToken(app));
    expect((await service.relate(id, person.token)).status).toBe(200);
    const flags = { 'login-user': person.loginUserId };
    await own.proxy.during(listsLag, () => service.operate('login-users', 'delete', flags));
    const list = async (whose: Record<string, string>) =>
      (await service.operate('devices', 'list', whose)).devices;
    return { app, person, id, flags, list };
  }
  /** Whose a device is in the table. */
  const ownerOf = async (id: string): Promise<unknown> =>
    (await itemAt(own, deviceKey(id)))?.login_user_id;

  test('their phone gets no message for them, and is no longer theirs', async () => {
    const { id, flags, list } = await missed();
    expect(await list(flags)).toEqual([]);
    expect(await ownerOf(id)).toBeUndefined();
  });

  test('messages to everyone reach the phone, as a phone of nobody', async () => {
    const { app, id, list } = await missed();
    const listed = await eventually(
      () => list({ 'login-app': app.login_app_id }),
      (devices) => Array.isArray(devices) && devices.length === 1,
    );
    expect(listed).toEqual([
      { device_id: id, platform: 'android', token_type: 'fcm', last_seen_at: expect.any(String) },
    ]);
    expect(await ownerOf(id)).toBeUndefined();
  });

  test('it is not theirs either when they come again', async () => {
    const { app, person, id } = await missed();
    const again = await newPerson(service, person.subject, app);
    expect(again.loginUserId).not.toBe(person.loginUserId);
    expect(await deviceIdsOf(service, again)).toEqual([]);
    expect((await service.relate(id, again.token)).status).toBe(200);
    expect(await deviceIdsOf(service, again)).toEqual([id]);
  });

  test('deleting them again finds the phone; then there is nothing left to delete', async () => {
    const { id, flags } = await missed();
    const again = () => service.operate('login-users', 'delete', flags);
    expect(await again()).toMatchObject({ removed: { device_relations: 1 }, deleted: true });
    expect(await ownerOf(id)).toBeUndefined();
    await expect(again()).rejects.toThrow('There is no such Login User.');
  });
});

/**
 * What no client and no operator command brings about: items that are gone, or that another part
 * has changed.
 */
describe('POST /v2/marketing/login/user/push_notifications/devices', () => {
  const notFound = { status: 404, error: 'not_found' };
  const ended = { status: 401, error: 'invalid_token', naming: /session.*ended/ };
  const sessionOf = ({ loginUserId, sessionId }: Person) => sessionKey(loginUserId, sessionId);

  test.each<
    [string, (id: string, person: Person) => Promise<unknown>, typeof notFound & { naming: RegExp }]
  >([
    [
      '404 user not found',
      (_, { loginUserId }) => removeItem(own, loginUserKey(loginUserId)),
      { ...notFound, naming: /Login User/ },
    ],
    [
      '404 device not found, when it is gone',
      (id) => removeItem(own, deviceKey(id)),
      { ...notFound, naming: /device/ },
    ],
    ['401 the session has ended', (_, person) => removeItem(own, sessionOf(person)), ended],
    [
      '401 it has expired, though the table has it still',
      (_, person) => expireItem(own, sessionOf(person)),
      ended,
    ],
  ])('%s', async (_, change, error) => {
    const id = await newPhone(service);
    const person = await newPerson(service);
    await change(id, person);
    expectError(await service.relate(id, person.token), error);
  });
});

test('a device that has expired is gone, though the table has it still', async () => {
  const { token, loginUserId } = await newPerson(service);
  const phone = { platform: 'android', token: unique('push-token') };
  const appToken = await service.loginAppToken();
  const { id } = (await service.register(phone, appToken)).body;
  expectAnswer(await service.relate(id, token), 200, { id });
  const recipients = async () => (await service.recipients(`login_user_id=${loginUserId}`)).body;

  await expireItem(own, deviceKey(id));
  expectAnswer(await service.listDevices(token), 200, { devices: [] });
  expect(await recipients()).toEqual({ recipients: [] });
  for (const verb of ['show', 'disable'])
    await expect(service.operate('devices', verb, { device: id })).rejects.toThrow(
      'There is no such device.',
    );
  const again = await service.relate(id, token);
  expectError(again, { status: 404, error: 'not_found', naming: /device/ });

  // One that registers again is a new one, and nobody's.
  expectAnswer(await service.register(phone, appToken), 201, { id });
  expect(await recipients()).toEqual({ recipients: [] });
  expectAnswer(await service.relate(id, token), 200, { id });
  expect(await recipients()).toMatchObject({ recipients: [{ device_id: id }] });
});

describe.each([
  ['without an installation', {}],
  ['with one', { installation_id: unique('installation') }],
])('a device that has expired, %s', (_, more) => {
  const expired = async () => {
    const phone = { platform: 'android', token: unique('push-token'), ...more };
    const appToken = await service.loginAppToken();
    const register = () => service.register(phone, appToken);
    const { id } = (await register()).body;
    const person = await newPerson(service);
    await service.relate(id, person.token);
    await expireItem(own, deviceKey(id));
    return { register, person };
  };

  test('is created once by twenty registrations at once, and is nobody’s', async () => {
    const { register, person } = await expired();
    const answers = await Promise.all(Array.from({ length: 20 }, register));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([...Array(19).fill(200), 201]);
    expect(await deviceIdsOf(service, person)).toEqual([]);
  });

  test.each(['fails before', 'fails after', 'answer lost'] as const)(
    'is created once when any call of its registration %s',
    async (fault) => {
      for (let place = 0; ; place += 1) {
        const { register, person } = await expired();
        const { result, happened } = await failing(own.proxy, [place, fault], register);
        if (!happened) return;
        expect(result.status).toBe(fault === 'answer lost' ? 201 : 500);
        const again = await register();
        expect([200, 201]).toContain(again.status);
        if (fault === 'answer lost') expect(again.status).toBe(200);
        expect(await deviceIdsOf(service, person)).toEqual([]);
      }
    },
  );
});

test('a device that has expired hands its person on to no other device of its installation', async () => {
  const { token, loginUserId } = await newPerson(service);
  const appToken = await service.loginAppToken();
  const installation_id = unique('installation');
  const registered = async () => {
    const phone = { platform: 'android', token: unique('push-token'), installation_id };
    return (await service.register(phone, appToken)).body.id;
  };
  const id = await registered();
  expectAnswer(await service.relate(id, token), 200, { id });
  await expireItem(own, deviceKey(id));
  await registered();
  expect((await service.recipients(`login_user_id=${loginUserId}`)).body).toEqual({
    recipients: [],
  });
});

test('a token whose session is no longer stored ends its relations, if its own Login App revokes it', async () => {
  const { id, person, relate, recipients } = await phone();
  expectAnswer(await relate(), 200, { id });
  await removeItem(own, sessionKey(person.loginUserId, person.sessionId));
  const recipientsAfterRevoking = async (client: LoginApp) => {
    expectAnswer(await service.revoke(person.refreshToken, client), 200, {});
    return recipients();
  };
  const { login_app, other_login_app } = running.demo;
  expect(await recipientsAfterRevoking(other_login_app)).toMatchObject([{ device_id: id }]);
  expect(await recipientsAfterRevoking(login_app)).toEqual([]);
});

test('a thief with the id of a public client and a key of their own ends no relation of such a session', async () => {
  const client = await newPublicClient(service);
  const owner = await newPhone(service);
  const thief = await newKeyHolder(service, client);
  const { access_token, refresh_token } = (await (await newKeyHolder(service, client)).logIn())
    .body;
  expectAnswer(await service.relate(owner, access_token), 200, { id: owner });
  const { sub, sid } = decodeJwt<{ sub: string; sid: string }>(access_token);
  await removeItem(own, sessionKey(sub, sid));
  expectAnswer(await thief.send('revoke', { token: refresh_token }), 200, {});
  const { devices } = await service.operate('devices', 'list', { 'login-user': sub });
  expect(devices).toMatchObject([{ device_id: owner }]);
});
