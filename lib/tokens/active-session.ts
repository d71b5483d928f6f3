import { findCurrentClient } from '../login-apps/clients.ts';
import { findStatus } from '../login-apps/status.ts';
import { isGuest } from '../login-users/login-user.ts';
import { isActive, readLoginUserWithSession, type Session } from '../people/sessions/session.ts';

/** A session with the current mark of a guest, which the session itself has from its latest tokens. */
export type ActiveSession = Session & { isGuest: boolean };

/**
 * A Login App's active session, unless its person is blocked or its client revoked. That of another
 * costs no more reads.
 */
export async function activeSessionOf(
  loginAppId: string,
  loginUserId: string,
  sessionId: string,
): Promise<ActiveSession | undefined> {
  const { user, session } = await readLoginUserWithSession(loginUserId, sessionId);
  if (!user || user.blocked_at) return undefined;
  if (session?.login_app_id !== loginAppId) return undefined;
  const status = await findStatus(loginAppId);
  if (!isActive(session, status)) return undefined;
  const client = await findCurrentClient(session.client_id);
  return client && { ...session, isGuest: isGuest(user) };
}
