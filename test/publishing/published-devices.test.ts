import { expect, test } from '@jest/globals';
import { newPerson, newPhone } from '../support/people.ts';
import { unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import { watchPublishing } from '../support/watch-publishing.ts';

const own = await sharedServiceWithStore();
const { service } = own;
const { demo, operate } = service;
const { bus, during, publishedDuring } = await watchPublishing(own);

const { login_app_id } = demo.login_app;
const appToken = await service.loginAppToken();

test('a first registration: device.registered; a further one: nothing', async () => {
  const device = { platform: 'android', token: unique('phone') };
  const register = () => service.register(device, appToken);
  const { published, result } = await during(register);
  const device_id: string = result.body.id;
  const times = { created_at: 'TIME', registered_at: 'TIME' };
  const registered = {
    event: 'device.registered',
    device_id,
    login_app_id,
    platform: 'android',
    ...times,
  };
  expect(published).toEqual([registered]);
  expect(await publishedDuring(register)).toEqual([]);

  const disable = () => operate('devices', 'disable', { device: device_id });
  const { created_at, registered_at, ...own } = registered;
  expect(await publishedDuring(disable)).toEqual([
    { ...own, event: 'device.disabled', disabled_at: 'TIME' },
  ]);
  expect(await publishedDuring(disable)).toEqual([]);
  expect(await publishedDuring(register)).toEqual([registered]);
});

test('a relation: device.related; again: nothing; by another person: the former relation ends first', async () => {
  const [anna, bert] = [await newPerson(service), await newPerson(service)];
  const device_id = await newPhone(service, appToken);
  const device = { device_id, login_app_id, platform: 'android' };
  const related = { event: 'device.related', ...device, related_at: 'TIME' };
  const relate = (token: string) => publishedDuring(() => service.relate(device_id, token));
  expect(await relate(anna.token)).toEqual([{ ...related, login_user_id: anna.loginUserId }]);
  expect(await relate(anna.token)).toEqual([]);
  expect(await relate(bert.token)).toEqual([
    {
      ...related,
      event: 'device.moved',
      login_user_id: bert.loginUserId,
      former_login_user_id: anna.loginUserId,
    },
    { ...related, login_user_id: bert.loginUserId },
    { event: 'device.relation_ended', ...device, login_user_id: anna.loginUserId },
  ]);
  const inOrder = bus.taken.toSorted((a, b) =>
    String(a.Detail.sequence) < String(b.Detail.sequence) ? -1 : 1,
  );
  expect(inOrder.map(({ DetailType }) => DetailType)).toEqual([
    'device.relation_ended',
    'device.related',
    'device.moved',
  ]);
  const end = () => service.endRelation(device_id, bert.token);
  expect(await publishedDuring(end)).toEqual([
    { event: 'device.relation_ended', ...device, login_user_id: bert.loginUserId },
  ]);
});

test('another token of an installation: the relation of the old device ends, the new one is registered and related', async () => {
  const { loginUserId: login_user_id, token } = await newPerson(service);
  const installation_id = unique('installation');
  const register = async () => {
    const device = { platform: 'android', token: unique('phone'), installation_id };
    return (await service.register(device, appToken)).body.id;
  };
  const former = await register();
  await service.relate(former, token);
  const { published, result: device_id } = await during(register);
  const device = { device_id, login_app_id, platform: 'android' };
  expect(published).toEqual([
    { event: 'device.registered', ...device, created_at: 'TIME', registered_at: 'TIME' },
    { event: 'device.related', ...device, login_user_id, related_at: 'TIME' },
    { event: 'device.relation_ended', ...device, device_id: former, login_user_id },
  ]);
  expect(JSON.stringify(bus.requests)).not.toContain(installation_id);
});
