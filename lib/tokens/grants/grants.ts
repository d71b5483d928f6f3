import { clientCredentials } from './client-credentials.ts';
import type { Grant } from './grant.ts';
import type { GrantType } from './grant-types.ts';
import { providerAuthorizationCode } from './provider-authorization-code.ts';
import { providerCredentials } from './provider-credentials.ts';
import { refreshToken } from './refresh-token.ts';

/** What each grant type does. */
export const grants: Record<GrantType, Grant> = {
  provider_credentials: providerCredentials,
  provider_authorization_code: providerAuthorizationCode,
  refresh_token: refreshToken,
  client_credentials: clientCredentials,
};
