import { randomUUID } from 'node:crypto';
import { DeleteCommand } from '@aws-sdk/lib-dynamodb';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { rotationSteps } from '../../infra/local/stack.ts';
import { startOwnTable, startSecretsStandIn, stopClock } from '../support/own-table.ts';

const table = await startOwnTable();
const manager = await startSecretsStandIn();
const { secrets } = manager;
const SecretId = 'signing-keys';
Object.assign(process.env, {
  SIGNING_KEYS_SECRET_ID: SecretId,
  TOKEN_ALGORITHM: 'ES256',
  ACCESS_TOKEN_SECONDS: '3600',
});
const { rotateSigningKeys } = await import('../../lib/signing/rotate.ts');
const { revokeSigningKey } = await import('../../lib/signing/rotate.ts');
const { publicKeys } = await import('../../lib/signing/published-keys.ts');
const { publicSigningKeysKey } = await import('../../lib/storage/keys.ts');

const pass = stopClock();
const minute = 60_000;
/** After which every verifier knows a key that was published. */
const notice = 130 * minute;
const get = 'secretsmanager.GetSecretValue';
const updateStage = 'secretsmanager.UpdateSecretVersionStage';
const answer = secrets.answer.bind(secrets);

function newRotation() {
  const ClientRequestToken = randomUUID();
  return (Step: (typeof rotationSteps)[number]) =>
    rotateSigningKeys({ SecretId, ClientRequestToken, Step });
}

async function rotate(): Promise<void> {
  const step = newRotation();
  for (const name of rotationSteps) await step(name);
}

const currentSet = () => JSON.parse(secrets.current(SecretId) ?? '');
const publishedKids = async () => {
  // A warm function remembers keys for five minutes.
  pass(5 * minute);
  return (await publicKeys()).map(({ kid }) => kid);
};
const published = { TableName: table.tableName, Key: publicSigningKeysKey() };

secrets.create(SecretId, 'to be replaced by the first rotation');
await rotate();
beforeEach(() => pass(notice));
afterEach(() => {
  secrets.answer = answer;
  manager.hook = () => undefined;
});

/**
 * From its next move on, the stage AWSCURRENT leads to the version before, as Secrets Manager may
 * answer for a while.
 */
function lagBehind(): void {
  secrets.answer = (target, body) => {
    if (target !== updateStage) return answer(target, body);
    const before = answer(get, { SecretId });
    secrets.answer = (target, body) =>
      target === get && !Object.hasOwn(Object(body), 'VersionId') ? before : answer(target, body);
    return answer(target, body);
  };
}

test('a rotation that reads the secret before its new version is seen everywhere keeps publishing the next key', async () => {
  lagBehind();
  await rotate();
  secrets.answer = answer;
  const { current, next } = currentSet();
  pass(70 * minute);
  expect(await publishedKids()).toEqual([current.kid, next.kid]);
});

test('a key outlives the last token of a function that read it a minute after the rotation', async () => {
  const { current } = currentSet();
  await rotate();
  // It is read a minute late and signs for 4 minutes; its tokens are valid for 60.
  pass(60 * minute - 1000);
  expect(await publishedKids()).toContain(current.kid);
  pass(2000);
  expect((await publicKeys()).map(({ kid }) => kid)).not.toContain(current.kid);
});

test('a rotation publishes the keys again at once when the table was lost', async () => {
  await rotate();
  await table.dynamoDb.send(new DeleteCommand(published));
  const { next } = currentSet();
  await rotate();
  expect(await publishedKids()).toEqual(expect.arrayContaining([next.kid, currentSet().next.kid]));
});

/** Makes an operator revoke a key before Secrets Manager carries out the next call of a name. */
function revokeBefore(call: string, kid: string): void {
  manager.hook = async (name) => {
    if (name !== call) return undefined;
    manager.hook = () => undefined;
    await revokeSigningKey(kid);
    return undefined;
  };
}

describe('a revocation while a rotation is under way', () => {
  const kidsInUse = async () => [
    ...(await publishedKids()),
    currentSet().current.kid,
    currentSet().next.kid,
  ];

  test('before the next key set is made: the rotation fails, and publishes the revoked key no more', async () => {
    const { next } = currentSet();
    revokeBefore('GetSecretValue', next.kid);
    // The first call looks for what the rotation has prepared; the second reads the secret.
    const first = manager.hook;
    manager.hook = () => {
      manager.hook = first;
      return undefined;
    };
    await expect(rotate()).rejects.toThrow(
      'The signing keys were rotated or revoked at the same time.',
    );
    expect(await kidsInUse()).not.toContain(next.kid);
  });

  test('that stopped half-way: the rotation does not finish', async () => {
    const { next } = currentSet();
    const step = newRotation();
    for (const name of rotationSteps.slice(0, 3)) await step(name);
    manager.hook = (call) => (call === 'PutSecretValue' ? 'fails' : undefined);
    await expect(revokeSigningKey(next.kid)).rejects.toThrow('Told to fail.');
    manager.hook = () => undefined;
    await expect(step('finishSecret')).rejects.toThrow('has been revoked. Rotate again.');
    expect(await publishedKids()).not.toContain(next.kid);
    await revokeSigningKey(next.kid);
    expect(await kidsInUse()).not.toContain(next.kid);
  });

  test('of the key that it adds, at its last moment: another key takes its place', async () => {
    const step = newRotation();
    for (const name of rotationSteps.slice(0, 3)) await step(name);
    const before = [currentSet().current.kid, currentSet().next.kid];
    const added = (await publishedKids()).find((kid) => !before.includes(kid)) ?? '';
    revokeBefore('UpdateSecretVersionStage', added);
    await step('finishSecret');
    expect(await kidsInUse()).not.toContain(added);
    expect(currentSet().current.kid).toBe(before[1]);
    pass(notice);
    await rotate();
    expect(await kidsInUse()).not.toContain(added);
  });
});
