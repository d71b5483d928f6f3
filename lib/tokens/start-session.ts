import type { AuthenticatedClient } from '../login-apps/clients.ts';
import { logIn } from '../people/sessions/log-in.ts';
import { putSession } from '../people/sessions/session-store.ts';
import type { Credential } from '../providers/protocol.ts';
import { verifyCredential } from '../providers/verify-credential.ts';
import { loginUserTokenOf, type TokenResponse } from './token-response.ts';

/**
 * Starts a session for the person of a provider's credential, and issues its tokens. The session is stored last, so a login that fails leaves none that
 * its owner would see.
 * @throws ServiceError, ProviderFailure
 */
export async function startSession(
  client: AuthenticatedClient,
  credential: Credential,
): Promise<TokenResponse> {
  const identity = await verifyCredential(client.loginAppId, credential);
  const session = await logIn(client, credential.provider, identity);
  const tokens = await loginUserTokenOf(session);
  await putSession(session);
  return tokens;
}
