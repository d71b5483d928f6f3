import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { decodeProtectedHeader, type JWK } from 'jose';
import { setEnvironment } from '../../infra/local/load-functions.ts';
import { rotationSteps } from '../../infra/local/stack.ts';
import { ownService } from '../support/own-service.ts';
import { unique } from '../support/service.ts';
import { noFailure, steadyTraffic } from '../support/steady-traffic.ts';
import { awsEndpointOf } from '../support/stolen-signing-keys.ts';

const hours = 3600;
const lifetime = 12 * hours;
/** A retired key stays for a minute more: a function may have read it late. */
const margin = 60;

const { running, service } = await ownService(
  { TOKEN_ALGORITHM: 'ES256', ACCESS_TOKEN_SECONDS: String(lifetime) },
  { movableClock: true },
);

/**
 * The rotation function of a deployment with another setting: in this process, on the same table
 * and secrets.
 */
async function otherDeployment() {
  process.env.LOG_LEVEL = 'ERROR';
  process.env.LOCAL_DIR = running.directory;
  process.env.ACCESS_TOKEN_SECONDS = String(lifetime);
  setEnvironment(service.demo, awsEndpointOf(running));
  // The tests of other files in this process go by the same clock.
  const { now } = performance;
  afterAll(() => {
    performance.now = now;
  });
  await import('../support/movable-clock.ts');
  const { handler } = await import('../../functions/rotate-signing-keys.ts');
  return async (algorithm: string): Promise<void> => {
    process.env.TOKEN_ALGORITHM = algorithm;
    const ClientRequestToken = randomUUID();
    for (const Step of rotationSteps)
      await handler(
        { SecretId: 'signing-keys', ClientRequestToken, Step },
        { awsRequestId: 'r-1' },
      );
  };
}
const deployWith = await otherDeployment();
/** Deploys when every verifier knows the next key. */
const deployLaterWith = (algorithm: string): Promise<void> => {
  running.advance(25 * hours);
  return deployWith(algorithm);
};

const published = async (): Promise<{ keys: JWK[] }> =>
  (await service.call('/v2/marketing/oauth/jwks')).body;
const algorithmOf = (token: string): string | undefined => decodeProtectedHeader(token).alg;
const phone = () => ({ platform: 'android', token: unique('phone') });

/** Deploys until all keys are of one algorithm, and no function knows others. */
async function settleOn(algorithm: string): Promise<void> {
  await deployLaterWith(algorithm);
  await deployLaterWith(algorithm);
  running.advance(lifetime + margin + 5 * 60);
  expect((await published()).keys.map(({ alg }) => alg)).toEqual([algorithm, algorithm]);
}

describe.each([
  ['ES256', 'RS256'],
  ['RS256', 'ES256'],
])('tokenAlgorithm, changed from %s to %s', (from, to) => {
  beforeEach(() => settleOn(from));

  test('under steady traffic: not one failure; the new key signs after it was published for a day', async () => {
    const old = await service.loginAppToken();
    const traffic = steadyTraffic(service);
    await traffic.round();
    await deployWith(to);
    await expect(deployWith(to)).rejects.toThrow('Verifiers may not know the next key yet.');
    // A warm function lists the keys that it has read for five minutes at most.
    running.advance(5 * 60);
    const kids = (await published()).keys.filter(({ alg }) => alg === to).map(({ kid }) => kid);
    expect(kids).toHaveLength(1);
    for (let passed = 0; passed < 24; passed += 8) {
      running.advance(8 * hours - 3 * 60);
      await traffic.round();
    }
    expect(new Set(traffic.tokens.map(algorithmOf))).toEqual(new Set([from]));

    const last = await service.loginAppToken();
    running.advance(10 * 60);
    await traffic.round();
    await traffic.stop();
    expect(Object.keys(traffic.statuses).sort()).toEqual(noFailure);
    expect(decodeProtectedHeader(traffic.tokens.at(-1) ?? '')).toMatchObject({
      alg: to,
      kid: kids[0],
    });

    expect((await service.register(phone(), last)).status).toBe(201);
    expect((await service.register(phone(), old)).status).toBe(401);
    expect((await service.register(phone(), await service.loginAppToken())).status).toBe(201);
  });

  test('the rotation after it retires the keys of the old algorithm when their tokens have expired', async () => {
    await deployWith(to);
    running.advance(24 * hours + 10 * 60);
    const before = await service.loginAppToken();
    expect(algorithmOf(before)).toBe(to);
    await deployWith(to);
    running.advance(5 * 60);
    const after = await service.loginAppToken();
    expect(algorithmOf(after)).toBe(to);
    expect((await service.register(phone(), before)).status).toBe(201);
    expect((await service.register(phone(), after)).status).toBe(201);
    running.advance(lifetime + margin);
    expect((await published()).keys.map(({ alg }) => alg)).toEqual([to, to]);
  });
});

test('a key that has taken over is revoked: the one that it replaced does not sign again', async () => {
  await deployLaterWith('ES256');
  await deployLaterWith('ES256');
  await deployWith('RS256');
  running.advance(25 * hours);
  const before = (await published()).keys.map(({ kid }) => kid);
  const kid = decodeProtectedHeader(await service.loginAppToken()).kid;
  const { signing_kid } = await service.operate('signing-keys', 'revoke', { kid });
  expect(before).toContain(kid);
  expect(before).not.toContain(signing_kid);
  running.advance(5 * 60);
  const token = await service.loginAppToken();
  expect(decodeProtectedHeader(token).kid).toBe(signing_kid);
  expect((await service.register(phone(), token)).status).toBe(201);
});

test('an algorithm that is none of the two is rejected', async () => {
  await expect(deployWith('HS256')).rejects.toThrow('TOKEN_ALGORITHM must be RS256 or ES256.');
});
