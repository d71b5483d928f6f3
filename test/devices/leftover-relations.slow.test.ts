import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { deviceKey, sessionKey } from '../../lib/storage/keys.ts';
import { expectAnswer, expectError } from '../support/expectations.ts';
import { expireItem, itemAt, removeItem } from '../support/items-about.ts';
import { createLoginApp, type LoginApp } from '../support/login-app.ts';
import { deviceIdsOf, eventually, newPerson, newPhone } from '../support/people.ts';
import { newPhone as newKeyHolder, newPublicClient } from '../support/phone.ts';
import { unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import { listsLag } from '../support/store-proxy.ts';

const own = await startServiceWithStore();

/** A phone that is registered, and a person who is logged in on it. */
async function phone() {
  const { service } = own;
  const id = await newPhone(service);
  const subject = unique('alice');
  const { access_token, refresh_token } = (await service.logIn(subject)).body;
  const logOut = () => service.revoke(refresh_token);
  const recipients = async () =>
    (await service.operate('devices', 'list', { 'login-user': decodeJwt(access_token).sub })).devices;
  /** Has another session of the person relate the phone just before anything else is written about it. */
  const relateFirst = async () => {
    const { body } = await service.logIn(subject);
    own.proxy.hook = async ({ operation, body: change }) => {
      if (operation !== 'UpdateItem' || !JSON.stringify(change).includes(id)) return undefined;
      own.proxy.hook = () => undefined;
      expect((await service.relate(id, body.access_token)).status).toBe(200);
      return undefined;
    };
  };
  return { id, access_token, logOut, recipients, relateFirst };
}

describe('after a logout nothing of the person goes to the phone', () => {
  test('also when a relation was still being written', async () => {
    const { id, access_token, logOut, recipients } = await phone();
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const held = new Promise<void>((resolve) => {
      own.proxy.hook = async ({ operation, body }) => {
        if (operation !== 'UpdateItem' || !JSON.stringify(body).includes(id)) return undefined;
        own.proxy.hook = () => undefined;
        resolve();
        await released;
        return undefined;
      };
    });
    const relation = own.service.relate(id, access_token);
    await held;
    expect((await logOut()).status).toBe(200);
    release();
    expect((await relation).status).toBe(200);
    expect(await recipients()).toEqual([]);
    expect(await recipients()).toEqual([]);
  });

  test('also when the index that finds the devices lags behind', async () => {
    const { id, access_token, logOut, recipients } = await phone();
    expect((await own.service.relate(id, access_token)).status).toBe(200);
    expect((await own.proxy.during(listsLag, logOut)).status).toBe(200);
    expect(await recipients()).toEqual([]);
  });

  test('for as long as a phone may come back: the mark of the ended session outlives every phone', async () => {
    const { access_token, logOut } = await phone();
    const { sub = '', sid } = decodeJwt(access_token);
    await logOut();
    const item = await itemAt(own, sessionKey(sub, String(sid)));
    const secondsLeft = Number(item?.expires_at) - Date.now() / 1000;
    expect(secondsLeft).toBeGreaterThan(270 * 86_400);
  });

  test('while another session that relates the phone at that moment keeps it', async () => {
    const { id, access_token, logOut, recipients, relateFirst } = await phone();
    await own.service.relate(id, access_token);
    await relateFirst();
    expect((await logOut()).status).toBe(200);
    expect(await recipients()).toEqual([expect.objectContaining({ device_id: id })]);
  });

  test('also one that relates it when the leftover relation is just found', async () => {
    const { id, access_token, logOut, recipients, relateFirst } = await phone();
    await own.service.relate(id, access_token);
    expect((await own.proxy.during(listsLag, logOut)).status).toBe(200);
    await relateFirst();
    expect(await recipients()).toEqual([]);
    expect(await recipients()).toEqual([expect.objectContaining({ device_id: id })]);
  });
});

describe('after a Login User is deleted while the index lags behind', () => {
  /** A phone whose relation the deletion of its owner did not find. */
  async function missed() {
    const app = await createLoginApp(own.service, unique('app'), {
      platforms: ['android'],
      providers: ['provider_f'],
    });
    const person = await newPerson(own.service, unique('alice'), app);
    const id = await newPhone(own.service, await own.service.loginAppToken(app));
    expect((await own.service.relate(id, person.token)).status).toBe(200);
    const flags = { 'login-user': person.loginUserId };
    await own.proxy.during(listsLag, () => own.service.operate('login-users', 'delete', flags));
    const list = async (whose: Record<string, string>) =>
      (await own.service.operate('devices', 'list', whose)).devices;
    return { app, person, id, flags, list };
  }
  /** Whose a device is in the table. */
  const ownerOf = async (id: string): Promise<unknown> => (await itemAt(own, deviceKey(id)))?.login_user_id;

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
    const again = await newPerson(own.service, person.subject, app);
    expect(again.loginUserId).not.toBe(person.loginUserId);
    expect(await deviceIdsOf(own.service, again)).toEqual([]);
    expect((await own.service.relate(id, again.token)).status).toBe(200);
    expect(await deviceIdsOf(own.service, again)).toEqual([id]);
  });

  test('deleting them again finds the phone; then there is nothing left to delete', async () => {
    const { id, flags } = await missed();
    const again = () => own.service.operate('login-users', 'delete', flags);
    expect(await again()).toMatchObject({ removed: { device_relations: 1 }, deleted: true });
    expect(await ownerOf(id)).toBeUndefined();
    await expect(again()).rejects.toThrow('There is no such Login User.');
  });
});

/** What no client and no operator command brings about: items that are gone, or that another part has changed. */
const { running, service } = own;
const userToken = async (): Promise<string> => (await service.logIn(unique('alice'))).body.access_token;

describe('POST /v2/marketing/login/user/push_notifications/devices', () => {
  test('404 user not found', async () => {
    const [token, id] = [await userToken(), await newPhone(service)];
    const { sub } = decodeJwt(token);
    await removeItem(own, { pk: `LOGIN_USER#${sub}`, sk: 'LOGIN_USER' });
    const answer = await service.relate(id, token);
    expectError(answer, { status: 404, error: 'not_found', naming: /Login User/ });
  });

  test('404 device not found, when it is gone', async () => {
    const id = await newPhone(service);
    await removeItem(own, deviceKey(id));
    const answer = await service.relate(id, await userToken());
    expectError(answer, { status: 404, error: 'not_found', naming: /device/ });
  });

  test('401 the session has ended', async () => {
    const [token, id] = [await userToken(), await newPhone(service)];
    const { sub, sid } = decodeJwt<{ sub: string; sid: string }>(token);
    await removeItem(own, sessionKey(sub, sid));
    const answer = await service.relate(id, token);
    expectError(answer, { status: 401, error: 'invalid_token', naming: /session.*ended/ });
  });

  test('401 the session has expired, though the table has it still', async () => {
    const [token, id] = [await userToken(), await newPhone(service)];
    const { sub, sid } = decodeJwt<{ sub: string; sid: string }>(token);
    await expireItem(own, sessionKey(sub, sid));
    const answer = await service.relate(id, token);
    expectError(answer, { status: 401, error: 'invalid_token', naming: /session.*ended/ });
  });
});

test('a device that has expired is gone, though the table has it still', async () => {
  const [token, phone] = [await userToken(), { platform: 'android', token: unique('push-token') }];
  const appToken = await service.loginAppToken();
  const { id } = (await service.register(phone, appToken)).body;
  expectAnswer(await service.relate(id, token), 200, { id });
  const recipients = async () => (await service.recipients(`login_user_id=${decodeJwt(token).sub}`)).body;

  await expireItem(own, deviceKey(id));
  expectAnswer(await service.listDevices(token), 200, { devices: [] });
  expect(await recipients()).toEqual({ recipients: [] });
  await expect(service.operate('devices', 'show', { device: id })).rejects.toThrow(
    'There is no such device.',
  );
  await expect(service.operate('devices', 'disable', { device: id })).rejects.toThrow(
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

test('a token whose session is no longer stored ends its relations, if its own Login App revokes it', async () => {
  const { access_token, refresh_token } = (await service.logIn(unique('alice'))).body;
  const id = await newPhone(service);
  expectAnswer(await service.relate(id, access_token), 200, { id });
  const { sub, sid } = decodeJwt<{ sub: string; sid: string }>(access_token);
  await removeItem(own, sessionKey(sub, sid));
  const recipientsAfterRevoking = async (client: LoginApp) => {
    expectAnswer(await service.revoke(refresh_token, client), 200, {});
    return (await service.operate('devices', 'list', { 'login-user': sub })).devices;
  };
  const { login_app, other_login_app } = running.demo;
  expect(await recipientsAfterRevoking(other_login_app)).toMatchObject([{ device_id: id }]);
  expect(await recipientsAfterRevoking(login_app)).toEqual([]);
});

test('a thief with the id of a public client and a key of their own ends no relation of such a session', async () => {
  const client = await newPublicClient(service);
  const [owner, thief] = [await newPhone(service), await newKeyHolder(service, client)];
  const { access_token, refresh_token } = (await (await newKeyHolder(service, client)).logIn()).body;
  expectAnswer(await service.relate(owner, access_token), 200, { id: owner });
  const { sub, sid } = decodeJwt<{ sub: string; sid: string }>(access_token);
  await removeItem(own, sessionKey(sub, sid));
  expectAnswer(await thief.send('revoke', { token: refresh_token }), 200, {});
  const { devices } = await service.operate('devices', 'list', { 'login-user': sub });
  expect(devices).toMatchObject([{ device_id: owner }]);
});
