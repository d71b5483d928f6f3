import type { Context } from 'aws-lambda';
import { awaitSigningKeys } from '../lib/deployment/await-signing-keys.ts';
import { requireEnvironmentInLambda } from '../lib/environment.ts';
import type { Access } from '../lib/http/endpoint.ts';

/** Rights of the function. The right to describe the secret of the signing keys comes with the rotation; it never reads the keys. */
export const access: Access = {
  summary: 'Lets a deployment end when a token can be signed',
  table: {},
  seconds: 300,
};

requireEnvironmentInLambda();
export const handler = (event: unknown, context: Context): Promise<void> =>
  awaitSigningKeys(event, () => context.getRemainingTimeInMillis());
