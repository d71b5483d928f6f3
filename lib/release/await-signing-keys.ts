import { setTimeout as wait } from 'node:timers/promises';
import * as v from 'valibot';
import { describeSecret } from '../secrets/secret-store.ts';
import { answerCloudFormation } from './cloudformation.ts';

const propertiesSchema = v.object({ SecretId: v.string() });

/** Milliseconds between two looks at the secret. */
const pause = 1_000;
/** Milliseconds that are kept for the response to CloudFormation. */
const timeForResponse = 10_000;

const notRotated =
  'The first rotation of the signing keys has not finished, so no token can be signed. Read the log of rotate-signing-keys.';

/**
 * A custom resource that exists once the signing keys have been rotated for the first time. Secrets
 * Manager rotates in the background: without this resource, a first deployment would end before the
 * service can sign a token.
 * @param remaining tells the milliseconds that the function may still run
 */
export const awaitSigningKeys = (event: unknown, remaining: () => number): Promise<void> =>
  answerCloudFormation(event, async (properties) => {
    const { SecretId } = v.parse(propertiesSchema, properties);
    for (;;) {
      const { rotated: isRotated } = await describeSecret(SecretId);
      if (isRotated) return undefined;
      const hasTime = remaining() >= timeForResponse + pause;
      if (!hasTime) return notRotated;
      await wait(pause);
    }
  });
