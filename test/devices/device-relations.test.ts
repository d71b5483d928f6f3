import { expect, test } from '@jest/globals';
import { createLoginApp } from '../support/login-app.ts';
import { subOf } from '../support/people.ts';
import { unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';

const { running, service } = await sharedServiceWithStore();

test('a device not seen for 270 days is stale: shown to its owner, not listed for sending', async () => {
  const options = { platforms: ['android'], providers: ['provider_d'] };
  const app = await createLoginApp(service, unique('app'), options);
  const subject = unique('dave');
  const token = unique('phone');
  const register = async () =>
    (await service.register({ platform: 'android', token }, await service.loginAppToken(app))).body
      .id;
  const logIn = () => service.logIn(subject, 'provider_d', app);
  const device_id = await register();
  const login = await logIn();
  await service.relate(device_id, login.body.access_token);
  const login_user_id = subOf(login);

  const sendable = async () => {
    const shards = Array.from({ length: 16 }, (_, shard) => `shard=${shard}`);
    const queries = [`login_user_id=${login_user_id}`, ...shards];
    const pages = await Promise.all(queries.map((query) => service.recipients(query, app)));
    return pages.flatMap(({ body }) => body.recipients);
  };
  const isActive = async () => {
    const { body } = await service.listDevices((await logIn()).body.access_token);
    return body.devices.map(({ id, active }: { id: string; active: boolean }) => ({ id, active }));
  };
  // By their owner, and in a shard.
  const twice = Array(2).fill(expect.objectContaining({ device_id, token, login_user_id }));
  running.advance(270 * 86_400 - 60);
  expect(await sendable()).toEqual(twice);
  running.advance(60);
  expect(await sendable()).toEqual([]);
  expect(await isActive()).toEqual([{ id: device_id, active: false }]);
  expect(await register()).toBe(device_id);
  expect(await sendable()).toEqual(twice);
  expect(await isActive()).toEqual([{ id: device_id, active: true }]);
});
