import * as v from 'valibot';
import { requireEnvironmentInLambda } from '../lib/foundation/environment.ts';
import type { Access } from '../lib/http/endpoint.ts';
import { reencryptProviderSettings } from '../lib/providers/settings/stored.ts';
import { serviceSecretRotation } from '../lib/secrets/rotate-service-secret.ts';
import { rotationStepSchema } from '../lib/secrets/secret-store.ts';

/** Rights of the function. Those on the secrets come with the rotation itself. */
export const access: Access = {
  summary: 'Rotates the service secrets, and encrypts the provider settings again',
  table: { GetItem: ['login_apps'], Query: ['login_apps'], UpdateItem: ['login_apps'] },
};

requireEnvironmentInLambda();
const rotate = serviceSecretRotation(reencryptProviderSettings);
export const handler = (event: unknown): Promise<void> => rotate(v.parse(rotationStepSchema, event));
