import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { decodeProtectedHeader } from 'jose';
import { rotateSigningKeys } from '../../infra/local/stack.ts';
import { invokeFunction } from '../../infra/operator/call/invoke-function.ts';
import { ownService } from '../support/own-service.ts';
import { unique } from '../support/service.ts';
import { noFailure, steadyTraffic } from '../support/steady-traffic.ts';
import {
  awsEndpointOf,
  forgedWith,
  kidOf,
  publishedKids,
  stolenSigningKeys,
} from '../support/stolen-signing-keys.ts';

const minutes = 60;
const lifetime = 24 * 60 * minutes;

const { running, service } = await ownService(
  { TOKEN_ALGORITHM: 'ES256', ACCESS_TOKEN_SECONDS: String(lifetime) },
  { movableClock: true },
);

const revoke = (kid: string) => service.operate('signing-keys', 'revoke', { kid });
/** Lets every verifier learn the next key. */
const giveNotice = (): void => running.advance(130 * minutes);
const rotate = (): Promise<void> => {
  giveNotice();
  return rotateSigningKeys(awsEndpointOf(running));
};
const registerWith = async (token: string): Promise<number> =>
  (await service.register({ platform: 'android', token: unique('phone') }, token)).status;
const introspect = async (token: string): Promise<unknown> =>
  (await service.introspect(token)).body;

test('the revoked key stops within 5 minutes everywhere, and another one signs; sessions go on', async () => {
  const { current, next } = await stolenSigningKeys(running);
  giveNotice();
  const genuine = await service.loginAppToken();
  expect(kidOf(genuine)).toBe(current.kid);
  const forged = await forgedWith(current, genuine, running);
  expect(await registerWith(forged)).toBe(201);
  expect(await introspect(forged)).toMatchObject({ active: true });
  const { refresh_token } = (await service.logIn(unique('alice'), 'provider_d')).body;

  const before = await publishedKids(service);
  expect(await revoke(current.kid)).toEqual({
    kid: current.kid,
    revoked: true,
    signing_kid: next.kid,
  });
  running.advance(5 * minutes);
  for (const token of [genuine, forged, await forgedWith(current, genuine, running)]) {
    expect(await registerWith(token)).toBe(401);
    expect(await introspect(token)).toEqual({ active: false });
  }
  const after = await publishedKids(service);
  expect(after).toContain(next.kid);
  expect(after).not.toContain(current.kid);
  expect(after.filter((kid) => !before.includes(kid))).toEqual([expect.stringMatching(/^k_/)]);
  const renewed = await service.loginAppToken();
  expect(decodeProtectedHeader(renewed)).toMatchObject({ kid: next.kid, alg: 'ES256' });
  expect(await registerWith(renewed)).toBe(201);
  expect((await service.refresh(refresh_token)).status).toBe(200);
  await revoke(current.kid);
  expect(kidOf(await service.loginAppToken())).toBe(next.kid);
});

test('whoever replaces tokens as they are told to meets no error: no function rejects what another still signs', async () => {
  const { current } = await stolenSigningKeys(running);
  const traffic = steadyTraffic(service);
  await traffic.round();
  await revoke(current.kid);
  for (const passed of [0, 4, 1]) {
    running.advance(passed * minutes);
    await traffic.round();
  }
  await traffic.stop();
  expect(Object.keys(traffic.statuses).sort()).toEqual(noFailure);
  expect(traffic.tokens.map(kidOf)).toContain(current.kid);
  expect(kidOf(traffic.tokens.at(-1) ?? '')).not.toBe(current.kid);
});

test('the next key can be revoked too, also after the current one', async () => {
  const { current, next } = await stolenSigningKeys(running);
  expect(await revoke(next.kid)).toEqual({
    kid: next.kid,
    revoked: true,
    signing_kid: current.kid,
  });
  running.advance(5 * minutes);
  expect(await publishedKids(service)).not.toContain(next.kid);
  expect(kidOf(await service.loginAppToken())).toBe(current.kid);
  expect(await revoke(current.kid)).toMatchObject({
    warning: expect.stringMatching(
      /^Verifiers that keep the key set reject new tokens .* until 20.*Z: /,
    ),
  });
  running.advance(5 * minutes);
  const token = await service.loginAppToken();
  expect([current.kid, next.kid]).not.toContain(kidOf(token));
  expect(await registerWith(token)).toBe(201);
});

test('a key that was rotated out can be revoked', async () => {
  const { current } = await stolenSigningKeys(running);
  await rotate();
  running.advance(5 * minutes);
  const genuine = await service.loginAppToken();
  expect(await publishedKids(service)).toContain(current.kid);
  await revoke(current.kid);
  running.advance(5 * minutes);
  expect(await publishedKids(service)).not.toContain(current.kid);
  expect(await registerWith(genuine)).toBe(201);
});

test('a rotation that was under way does not bring a revoked key back; the next rotation works', async () => {
  const { next } = await stolenSigningKeys(running);
  giveNotice();
  const begun = { SecretId: 'signing-keys', ClientRequestToken: randomUUID() };
  const step = (Step: string) =>
    invokeFunction(
      { name: 'rotate-signing-keys', endpoint: awsEndpointOf(running) },
      { ...begun, Step },
    );
  await step('createSecret');
  await revoke(next.kid);
  await expect(step('testSecret')).rejects.toThrow('was given up');
  await expect(step('finishSecret')).rejects.toThrow('was given up');
  await rotate();
  running.advance(5 * minutes);
  const token = await service.loginAppToken();
  expect(kidOf(token)).not.toBe(next.kid);
  expect(await registerWith(token)).toBe(201);
  expect(await publishedKids(service)).not.toContain(next.kid);
});

test('a key can be revoked although as many are published as may be', async () => {
  const rotateUntilFull = async (): Promise<void> => {
    while (true) await rotate();
  };
  await expect(rotateUntilFull()).rejects.toThrow('At most 10 keys can be published.');
  const { current } = await stolenSigningKeys(running);
  await revoke(current.kid);
  running.advance(5 * minutes);
  expect(await publishedKids(service)).toHaveLength(10);
  expect(await publishedKids(service)).not.toContain(current.kid);
  expect(await registerWith(await service.loginAppToken())).toBe(201);
  // Makes room again for whatever test comes next.
  running.advance(lifetime);
});

test('a key id that never was is an error', async () => {
  await expect(revoke(`k_${'A'.repeat(22)}`)).rejects.toThrow('There is no such signing key.');
});

test('a stolen key that was rotated out is worth nothing as soon as the last of its tokens has expired', async () => {
  const { current } = await stolenSigningKeys(running);
  const genuine = await service.loginAppToken();
  await rotate();
  // A function that has read the key late signs with it for five minutes more; that token is valid
  // for a day.
  running.advance(lifetime + 4 * minutes);
  expect(await registerWith(await forgedWith(current, genuine, running))).toBe(201);
  running.advance(1 * minutes);
  const forged = await forgedWith(current, genuine, running);
  expect(await registerWith(forged)).toBe(401);
  expect(await introspect(forged)).toEqual({ active: false });
});
