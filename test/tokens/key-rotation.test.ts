import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { decodeProtectedHeader } from 'jose';
import { invokeFunction } from '../../infra/invoke-function.ts';
import { rotateSigningKeys } from '../../infra/local/stack.ts';
import { ownService } from '../support/own-service.ts';
import { unique } from '../support/service.ts';

const minutes = 60;

const { running, service } = await ownService({}, { movableClock: true });

const awsEndpoint = (): string =>
  JSON.parse(readFileSync(join(running.directory, 'stack.json'), 'utf8')).aws_endpoint;
const rotate = (): Promise<void> => rotateSigningKeys(awsEndpoint());

const kidOf = (token: string): string => String(decodeProtectedHeader(token).kid);
const publishedKids = async (): Promise<string[]> =>
  (await service.call('/v2/marketing/oauth/jwks')).body.keys.map(({ kid }: { kid: string }) => kid);

/** Logs in, refreshes and relates, again and again, until told to stop. Every answer counts. */
function steadyTraffic() {
  const statuses: Record<string, number> = {};
  const kids = new Set<string>();
  let going = true;
  const count = (what: string, status: number) => {
    statuses[`${what} ${status}`] = (statuses[`${what} ${status}`] ?? 0) + 1;
  };
  const person = async () => {
    const { id } = (await service.register({ platform: 'android', token: unique('phone') }, appToken)).body;
    const login = await service.logIn(unique('alice'), 'provider_d');
    count('login', login.status);
    let tokens = login.body;
    while (going) {
      const relation = await service.relate(id, tokens.access_token);
      count('relate', relation.status);
      const refresh = await service.token({
        grant_type: 'refresh_token',
        refresh_token: tokens.refresh_token,
      });
      count('refresh', refresh.status);
      tokens = refresh.body;
      kids.add(kidOf(tokens.access_token));
    }
  };
  let appToken = '';
  const all = service.loginAppToken().then((token) => {
    appToken = token;
    return Promise.all([person(), person(), person()]);
  });
  return {
    statuses,
    kids,
    stop: async () => {
      going = false;
      await all;
    },
  };
}

test('three rotations under steady traffic: not one failure; old tokens verify until they expire, then the key is gone', async () => {
  const device = { platform: 'android', token: unique('phone') };
  const { id } = (await service.register(device, await service.loginAppToken())).body;
  const old = (await service.logIn(unique('bob'), 'provider_d')).body;
  const oldKid = kidOf(old.access_token);
  const [, nextKid] = await publishedKids();

  const traffic = steadyTraffic();
  for (let rotation = 0; rotation < 3; rotation += 1) {
    await rotate();
    // A warm function signs with the key it has read for five minutes at most.
    const before = traffic.kids.size;
    running.advance(5 * minutes);
    while (traffic.kids.size === before) await service.loginAppToken();
  }
  await traffic.stop();
  expect(Object.keys(traffic.statuses).sort()).toEqual(['login 200', 'refresh 200', 'relate 200']);
  expect(traffic.kids.size).toBeGreaterThanOrEqual(3);
  expect([...traffic.kids]).toContain(nextKid);

  expect((await service.relate(id, old.access_token)).status).toBe(200);
  expect(await publishedKids()).toContain(oldKid);
  running.advance(60 * minutes);
  expect((await service.relate(id, old.access_token)).status).toBe(401);
  expect(await publishedKids()).not.toContain(oldKid);
});

test('a rotation that stops half-way, and another that begins anew, break nothing', async () => {
  const abandoned = { SecretId: 'signing-keys', ClientRequestToken: randomUUID() };
  for (const Step of ['createSecret', 'createSecret', 'setSecret']) {
    await invokeFunction({ name: 'rotate-signing-keys', endpoint: awsEndpoint() }, { ...abandoned, Step });
  }
  // The key that signs goes on signing; what it signs is valid, however long the rotation is stuck.
  running.advance(120 * minutes);
  const meanwhile = { platform: 'android', token: unique('phone') };
  expect((await service.register(meanwhile, await service.loginAppToken())).status).toBe(201);
  const { access_token } = (await service.logIn(unique('carol'), 'provider_d')).body;
  await rotate();
  const device = { platform: 'android', token: unique('phone') };
  const { id } = (await service.register(device, await service.loginAppToken())).body;
  expect((await service.relate(id, access_token)).status).toBe(200);
  running.advance(5 * minutes);
  const later = (await service.logIn(unique('carol'), 'provider_d')).body;
  expect(kidOf(later.access_token)).not.toBe(kidOf(access_token));
  expect((await service.relate(id, later.access_token)).status).toBe(200);
  expect((await service.relate(id, access_token)).status).toBe(200);
});
