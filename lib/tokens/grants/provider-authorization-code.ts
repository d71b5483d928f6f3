import type { AuthenticatedClient } from '../../login-apps/clients.ts';
import { logIn } from '../../sessions/log-in.ts';
import { loginUserTokenOf, type TokenResponse } from '../token-response.ts';
import { type CodeRequest, personOfCode } from './code-request.ts';

/** Issues a Login User Token for an authorization code of a provider. @throws ServiceError, ProviderFailure */
export async function issueForAuthorizationCode(
  client: AuthenticatedClient,
  request: CodeRequest,
): Promise<TokenResponse> {
  const person = await personOfCode(client.loginAppId, request);
  return loginUserTokenOf(await logIn(client, request.provider, person));
}
