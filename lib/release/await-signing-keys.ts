import { setTimeout as wait } from 'node:timers/promises';
import * as v from 'valibot';
import { describeSecret } from '../secrets/secret-store.ts';
import { answerCloudFormation } from './cloudformation.ts';

const propertiesSchema = v.object({ SecretId: v.string() });

/** Milliseconds between two looks at the secret. */
const pause = 1_000;
/** Milliseconds that are kept for the response. */
const reserve = 10_000;

const failure =
  'The first rotation of the signing keys has not finished, so no token can be signed. Read the log of rotate-signing-keys.';

/**
 * A custom resource that exists once the signing keys have been rotated. Secrets Manager rotates
 * asynchronously: without it, a first deployment would end before the service can sign.
 * @param remaining milliseconds that the function may still run
 */
export const awaitSigningKeys = (event: unknown, remaining: () => number): Promise<void> =>
  answerCloudFormation(event, async (properties) => {
    const { SecretId } = v.parse(propertiesSchema, properties);
    while (!(await describeSecret(SecretId)).rotated) {
      if (remaining() < reserve + pause) return failure;
      await wait(pause);
    }
    return undefined;
  });
