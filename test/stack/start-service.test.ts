import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { serviceOf, unique } from '../support/service.ts';
import { type RunningService, startService } from '../support/start-service.ts';

let first: RunningService;
let second: RunningService;

beforeAll(async () => {
  first = await startService({}, { movableClock: true });
  second = await startService({ JOIN: first.directory });
});

afterAll(async () => {
  await second?.stop();
  await first?.stop();
});

test('two processes of one service know the same people, secrets and keys', async () => {
  const here = serviceOf(first.demo, first.directory);
  const there = serviceOf(second.demo, second.directory);
  const login = await here.logIn(unique('alice'), 'provider_a');
  const refreshed = await there.token({
    grant_type: 'refresh_token',
    refresh_token: login.body.refresh_token,
  });
  expect({ status: refreshed.status, issuer: decodeJwt(refreshed.body.access_token).iss }).toEqual({
    status: 200,
    issuer: first.demo.base_url,
  });
  expect(second.demo.base_url).not.toBe(first.demo.base_url);
});

test('a movable clock moves the times of tokens', async () => {
  const service = serviceOf(first.demo, first.directory);
  const issuedAt = async () => decodeJwt(await service.loginAppToken()).iat ?? 0;
  const before = await issuedAt();
  first.advance(86_400);
  expect((await issuedAt()) - before).toBeGreaterThanOrEqual(86_400);
  first.advance(-86_400);
  expect((await issuedAt()) - before).toBeLessThan(60);
});
