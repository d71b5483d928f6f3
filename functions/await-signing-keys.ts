import type { Context } from 'aws-lambda';
import { accessOf } from '../lib/http/endpoint.ts';
import { withInvocation } from '../lib/log/request-fields.ts';
import { awaitSigningKeys } from '../lib/release/await-signing-keys.ts';

/**
 * The function may not read the signing keys. The stack lets it see whether they have been rotated,
 * where it sets up the rotation.
 */
export const access = accessOf({
  summary: 'Lets a deployment end when a token can be signed',
  seconds: 300,
});

export const handler = (event: unknown, context: Context): Promise<void> =>
  withInvocation(context, () => awaitSigningKeys(event, () => context.getRemainingTimeInMillis()));
