import type { AuthenticatedClient } from '../../login-apps/clients.ts';
import { logIn } from '../../sessions/log-in.ts';
import { loginUserTokenOf, type TokenResponse } from '../token-response.ts';
import { type CredentialsRequest, personOfCredentials } from './credentials-request.ts';

/** Issues a Login User Token for a credential of a provider. @throws ServiceError, ProviderFailure */
export async function issueForProviderCredentials(
  client: AuthenticatedClient,
  request: CredentialsRequest,
): Promise<TokenResponse> {
  const person = await personOfCredentials(client.loginAppId, request);
  return loginUserTokenOf(await logIn(client, request.provider, person));
}
