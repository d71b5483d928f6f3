import type { Context } from 'aws-lambda';
import { accessOf } from '../lib/http/endpoint.ts';
import { withInvocation } from '../lib/log/request-fields.ts';
import { awaitSigningKeys } from '../lib/release/await-signing-keys.ts';

/** Rights of the function: none on the table. The rotation lets it describe the keys' secret. */
export const access = accessOf({
  summary: 'Lets a deployment end when a token can be signed',
  seconds: 300,
});

export const handler = (event: unknown, context: Context): Promise<void> =>
  withInvocation(context, () => awaitSigningKeys(event, () => context.getRemainingTimeInMillis()));
