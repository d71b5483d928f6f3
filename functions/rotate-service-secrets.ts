import { accessOf } from '../lib/http/endpoint.ts';
import { type Invocation, withInvocation } from '../lib/log/request-fields.ts';
import { reencryptProviderSettings } from '../lib/providers/settings/stored.ts';
import { serviceSecretRotation } from '../lib/secrets/rotate-service-secret.ts';

/** Rights of the function. Those on the secrets come with the rotation itself. */
export const access = accessOf({
  summary: 'Rotates the service secrets, and encrypts the provider settings again',
  table: { login_apps: ['GetItem', 'Query', 'UpdateItem'] },
});

const rotate = serviceSecretRotation(reencryptProviderSettings);

export const handler = (event: unknown, invocation: Invocation): Promise<void> =>
  withInvocation(invocation, () => rotate(event));
