import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { rotateSigningKeys } from '../../infra/local/stack.ts';
import { invokeFunction } from '../../infra/operator/call/invoke-function.ts';
import { ownService } from '../support/own-service.ts';
import { newPhone } from '../support/people.ts';
import { unique } from '../support/service.ts';
import { noFailure, steadyTraffic } from '../support/steady-traffic.ts';
import { awsEndpointOf, kidOf, publishedKids } from '../support/stolen-signing-keys.ts';

const minutes = 60;

/** Seconds after which every verifier knows a key that was published. */
const notice = 130 * minutes;
const lifetime = 12 * 60 * minutes;

const { running, service } = await ownService(
  { ACCESS_TOKEN_SECONDS: String(lifetime) },
  { movableClock: true },
);

const rotate = (): Promise<void> => rotateSigningKeys(awsEndpointOf(running));

test('three rotations under steady traffic: not one failure; old tokens verify until they expire, then the key is gone', async () => {
  const id = await newPhone(service);
  const old = (await service.logIn(unique('bob'), 'provider_d')).body;
  const oldKid = kidOf(old.access_token);
  const [, nextKid] = await publishedKids(service);

  const traffic = steadyTraffic(service);
  for (let rotation = 0; rotation < 3; rotation += 1) {
    running.advance(notice);
    await traffic.round();
    await rotate();
    // A warm function signs with the key it has read for five minutes at most.
    running.advance(5 * minutes);
    await traffic.round();
  }
  await traffic.stop();
  expect(Object.keys(traffic.statuses).sort()).toEqual(noFailure);
  const kids = new Set(traffic.tokens.map(kidOf));
  expect(kids.size).toBeGreaterThanOrEqual(3);
  expect([...kids]).toContain(nextKid);

  expect((await service.relate(id, old.access_token)).status).toBe(200);
  expect(await publishedKids(service)).toContain(oldKid);
  running.advance(lifetime);
  expect((await service.relate(id, old.access_token)).status).toBe(401);
  expect(await publishedKids(service)).not.toContain(oldKid);
});

test('a rotation waits until every verifier can know the next key; before, it names the time and changes nothing', async () => {
  running.advance(notice);
  await rotate();
  const published = await publishedKids(service);
  running.advance(notice - 5 * minutes);
  const again =
    /Verifiers may not know the next key yet\. Rotate again after 20[\d-]+T[\d:]+\.000Z\./;
  await expect(rotate()).rejects.toThrow(again);
  expect(await publishedKids(service)).toEqual(published);
  expect(kidOf(await service.loginAppToken())).toBe(published[0]);
  running.advance(5 * minutes);
  await rotate();
  running.advance(5 * minutes);
  expect(kidOf(await service.loginAppToken())).toBe(published[1]);
});

test('a rotation that stops half-way, and a new one after it, break nothing', async () => {
  running.advance(notice);
  const abandoned = { SecretId: 'signing-keys', ClientRequestToken: randomUUID() };
  const rotation = { name: 'rotate-signing-keys', endpoint: awsEndpointOf(running) };
  for (const Step of ['createSecret', 'createSecret', 'setSecret'])
    await invokeFunction(rotation, { ...abandoned, Step });
  // The key that signs goes on signing; what it signs is valid, however long the rotation is stuck.
  running.advance(120 * minutes);
  const meanwhile = { platform: 'android', token: unique('phone') };
  expect((await service.register(meanwhile, await service.loginAppToken())).status).toBe(201);
  const { access_token } = (await service.logIn(unique('carol'), 'provider_d')).body;
  await rotate();
  const id = await newPhone(service);
  expect((await service.relate(id, access_token)).status).toBe(200);
  running.advance(5 * minutes);
  const later = (await service.logIn(unique('carol'), 'provider_d')).body;
  expect(kidOf(later.access_token)).not.toBe(kidOf(access_token));
  expect((await service.relate(id, later.access_token)).status).toBe(200);
  expect((await service.relate(id, access_token)).status).toBe(200);
});
