import type { AuthenticatedClient } from '../login-apps/clients.ts';
import type { VerifiedIdentity } from '../login-users/identity.ts';
import { logIn } from '../people/sessions/log-in.ts';
import { putSession } from '../people/sessions/session-store.ts';
import type { ProviderId } from '../providers/provider-ids.ts';
import { loginUserTokenOf, type TokenResponse } from './token-response.ts';

/**
 * Starts a session for a person and issues its tokens. The session is stored last, so a login that fails leaves none that
 * its owner would see.
 * @throws ServiceError
 */
export async function startSession(
  client: AuthenticatedClient,
  provider: ProviderId,
  person: VerifiedIdentity,
): Promise<TokenResponse> {
  const session = await logIn(client, provider, person);
  const tokens = await loginUserTokenOf(session);
  await putSession(session);
  return tokens;
}
