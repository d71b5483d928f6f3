import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from '@jest/globals';
import { startLocalAws } from '../../infra/local/aws.ts';
import { rotationSteps } from '../../infra/local/stack.ts';
import { startOwnTable } from '../support/own-table.ts';
import { stopClock } from '../support/standing-clock.ts';

const table = await startOwnTable();
const aws = await startLocalAws(new Map());
afterAll(() => Promise.all([table.stop(), aws.close()]));
process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER = aws.url;
process.env.TOKEN_ALGORITHM = 'ES256';
process.env.ACCESS_TOKEN_SECONDS = '3600';
const { rotateSigningKeys } = await import('../../lib/signing-keys/rotate-signing-keys.ts');
const { publicKeys } = await import('../../lib/signing-keys/public-keys.ts');

const pass = stopClock();
const minute = 60_000;
const SecretId = 'signing-keys';
const get = 'secretsmanager.GetSecretValue';
const answer = aws.secrets.answer.bind(aws.secrets);

async function rotate(): Promise<void> {
  const ClientRequestToken = randomUUID();
  for (const Step of rotationSteps) {
    await rotateSigningKeys({ SecretId, ClientRequestToken, Step });
  }
}

/** From its next move on, the stage AWSCURRENT leads to the version before, as Secrets Manager may answer for a while. */
function lagBehind(): void {
  aws.secrets.answer = (target, body) => {
    if (target !== 'secretsmanager.UpdateSecretVersionStage') return answer(target, body);
    const before = answer(get, { SecretId });
    aws.secrets.answer = (target, body) =>
      target === get && !Object.hasOwn(Object(body), 'VersionId') ? before : answer(target, body);
    return answer(target, body);
  };
}

test('a rotation that reads the secret before its new version is seen everywhere keeps publishing the next key', async () => {
  aws.secrets.create(SecretId, 'to be replaced by the first rotation');
  await rotate();
  lagBehind();
  await rotate();

  aws.secrets.answer = answer;
  const { body } = answer(get, { SecretId });
  const { current, next } = JSON.parse(Object(body).SecretString);
  pass(70 * minute);
  const published = (await publicKeys()).map(({ kid }) => kid);
  expect(published).toEqual([current.kid, next.kid]);
});

test('a key outlives the last token of a function that read it a minute after the rotation', async () => {
  await rotate();
  const [signing] = await publicKeys();
  await rotate();

  const isPublished = async () => (await publicKeys()).some(({ kid }) => kid === signing?.kid);
  // It is read a minute late and signs for 4 minutes; its tokens are valid for 60.
  pass(65 * minute - 1000);
  expect(await isPublished()).toBe(true);
  pass(2000);
  expect(await isPublished()).toBe(false);
});
