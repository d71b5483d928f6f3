import { clientCredentials } from './client-credentials.ts';
import type { Grant } from './grant.ts';
import { providerAuthorizationCode } from './provider-authorization-code.ts';
import { providerCredentials } from './provider-credentials.ts';

/** Every grant type that the token endpoint supports. */
export const grants: ReadonlyMap<string, Grant> = new Map([
  ['provider_credentials', providerCredentials],
  ['provider_authorization_code', providerAuthorizationCode],
  ['client_credentials', clientCredentials],
]);
