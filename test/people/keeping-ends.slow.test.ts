import { expect, test } from '@jest/globals';
import { invokeFunction } from '../../infra/operator/call/invoke-function.ts';
import { keepingEndKey } from '../../lib/storage/keys.ts';
import { itemAt } from '../support/items-about.ts';
import { newKeeper } from '../support/provider-access.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { operatorOf } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';

const own = await sharedServiceWithStore();
const { service, running } = own;
const standIn = await startProviderStandIn();

const sweep = () =>
  invokeFunction({ ...operatorOf(running.directory), name: 'finish-deletions' }, {});

test('a provider that never answers: a sweep ends in time, and the next one goes on from there', async () => {
  const { app, scene, set, logIn } = await newKeeper(service, standIn);
  await set({ revocation_url: `${scene.url}/revoke` });
  await Promise.all(Array.from({ length: 100 }, () => logIn()));
  scene.misbehave('revoke', () => undefined);
  const key = keepingEndKey(app.login_app_id, 'provider_b', new URL(scene.url).host);
  await service.operate('providers', 'remove', {
    'login-app': app.login_app_id,
    provider: 'provider_b',
  });
  await sweep();
  const first = scene.calls('revoke');
  expect(first).toBeGreaterThan(0);
  expect(first).toBeLessThan(100);
  expect(await itemAt(own, key)).toMatchObject({ list_number: expect.any(Number) });
  expect(await itemAt(own, key)).not.toMatchObject({ list_number: 0 });
  await sweep();
  const tokens = scene.forms('revoke').map(({ token }) => token);
  expect(new Set(tokens).size).toBe(100);
  expect(tokens).toHaveLength(100);
  expect(await itemAt(own, key)).toMatchObject({ list_number: 0 });
});
