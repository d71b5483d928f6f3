import { setTimeout as wait } from 'node:timers/promises';
import * as v from 'valibot';
import { lastRotation } from '../secrets/secret-store.ts';
import { customResourceRequestSchema, respond } from './cloudformation.ts';

const propertiesSchema = v.object({ SecretId: v.string() });

/** Milliseconds between two looks at the secret. */
const pause = 1_000;
/** Milliseconds that are kept for the response. */
const reserve = 10_000;

const failure =
  'The first rotation of the signing keys has not finished, so no token can be signed. Read the log of rotate-signing-keys.';

/**
 * A custom resource that exists as soon as the signing keys have been rotated once. Secrets Manager rotates
 * asynchronously, so without it a first deployment would end before the service can sign.
 * @param remaining how many milliseconds the function may still run
 */
export async function awaitSigningKeys(event: unknown, remaining: () => number): Promise<void> {
  const request = v.parse(customResourceRequestSchema, event);
  if (request.RequestType === 'Delete') return respond(request, undefined);
  const { SecretId } = v.parse(propertiesSchema, request.ResourceProperties);
  while (!(await lastRotation(SecretId))) {
    if (remaining() < reserve + pause) return respond(request, failure);
    await wait(pause);
  }
  return respond(request, undefined);
}
