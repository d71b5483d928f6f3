import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { basic, unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';

const own = await startServiceWithStore();

/** A phone that is registered, and a person who is logged in on it. */
async function phone() {
  const { service } = own;
  const device = { platform: 'android', token: unique('phone') };
  const { id } = (await service.register(device, await service.loginAppToken())).body;
  const { access_token, refresh_token } = (await service.logIn(unique('alice'))).body;
  const logOut = () => {
    const { client_id, client_secret } = service.demo.login_app;
    return service.call('/v2/marketing/oauth/revoke', {
      method: 'POST',
      headers: { authorization: basic(client_id, client_secret) },
      body: new URLSearchParams({ token: refresh_token }),
    });
  };
  const recipients = async () =>
    (await service.operate('devices', 'list', { 'login-user': decodeJwt(access_token).sub })).devices;
  return { id, access_token, logOut, recipients };
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
    own.proxy.hook = ({ operation, body }) =>
      operation === 'Query' && body.IndexName === 'by_list'
        ? { status: 200, body: { Items: [], Count: 0, ScannedCount: 0 } }
        : undefined;
    expect((await logOut()).status).toBe(200);
    own.proxy.hook = () => undefined;
    expect(await recipients()).toEqual([]);
  });

  test('while a session that goes on keeps its device', async () => {
    const { id, access_token, recipients } = await phone();
    await own.service.relate(id, access_token);
    expect(await recipients()).toEqual([expect.objectContaining({ device_id: id })]);
  });
});
