import { auditIds } from '../audit.ts';
import { logEvent } from '../log.ts';
import type { AuthenticatedClient } from '../login-apps/clients.ts';
import type { ProviderId } from '../providers/identifiers.ts';
import type { Identity } from '../providers/identity.ts';
import { removeSession, type Session } from '../sessions/session.ts';
import { newSession, putSession } from '../sessions/session-lifetime.ts';
import { blockedError } from './blocked.ts';
import { loginUserIdOf, recordLogin } from './login-user.ts';

/**
 * Starts a session for a person that a provider has identified. User and session are written side by side; when the
 * user turns out to be blocked, the session is removed and no token of it is ever issued.
 * @throws ServiceError `invalid_grant` when the Login User is blocked
 */
export async function logIn(
  { clientId, loginAppId: login_app_id }: AuthenticatedClient,
  provider: ProviderId,
  identity: Identity,
): Promise<Session> {
  const login_user_id = loginUserIdOf(login_app_id, identity);
  auditIds({ login_user_id });
  const session = newSession({ login_user_id, login_app_id, client_id: clientId });
  const [outcome] = await Promise.all([
    recordLogin({
      login_user_id,
      login_app_id,
      provider,
      ...identity,
      last_session_id: session.session_id,
    }),
    putSession(session),
  ]);
  if (outcome === 'blocked') {
    await removeSession(login_user_id, session.session_id);
    logEvent('login_user_refused', { login_user_id });
    throw blockedError('invalid_grant');
  }
  return session;
}
