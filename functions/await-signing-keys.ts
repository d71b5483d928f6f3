import type { Context } from 'aws-lambda';
import { accessOf } from '../lib/http/endpoint.ts';
import { awaitSigningKeys } from '../lib/release/await-signing-keys.ts';

/**
 * Rights of the function, without the keys. That to describe their secret comes with the rotation.
 */
export const access = accessOf({
  summary: 'Lets a deployment end when a token can be signed',
  seconds: 300,
});

export const handler = (event: unknown, context: Context): Promise<void> =>
  awaitSigningKeys(event, () => context.getRemainingTimeInMillis());
