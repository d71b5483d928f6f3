import { findCurrentClient } from '../login-apps/clients.ts';
import { findStatus } from '../login-apps/status.ts';
import { isGuest } from '../login-users/login-user.ts';
import { isActive, readLoginUserWithSession, type Session } from '../people/sessions/session.ts';

/** A session with the current marks of its person; its own are those of its latest tokens. */
export type ActiveSession = Session & { isGuest: boolean; isMerged: boolean };

/**
 * A Login App's active session, unless its person is blocked or its client revoked. That of another
 * costs no more reads.
 */
export async function activeSessionOf(
  loginAppId: string,
  loginUserId: string,
  sessionId: string,
): Promise<ActiveSession | undefined> {
  const { active } = await lookUpSession(loginAppId, loginUserId, sessionId);
  return active?.isMerged ? undefined : active;
}

/**
 * The session that `activeSessionOf` gives, also that of a guest who was merged, and the Login User
 * into whom its person was merged.
 */
export async function lookUpSession(
  loginAppId: string,
  loginUserId: string,
  sessionId: string,
): Promise<{ active?: ActiveSession | undefined; merged_into?: string | undefined }> {
  const { user, merged, session } = await readLoginUserWithSession(loginUserId, sessionId);
  const merged_into = merged?.login_app_id === loginAppId ? merged.merged_into : undefined;
  const person = user ?? merged?.guest;
  if (!person || person.blocked_at) return { merged_into };
  if (session?.login_app_id !== loginAppId) return { merged_into };
  const status = await findStatus(loginAppId);
  if (!isActive(session, status)) return { merged_into };
  const client = await findCurrentClient(session.client_id);
  const marks = { isGuest: isGuest(person), isMerged: merged !== undefined };
  return { active: client && { ...session, ...marks }, merged_into };
}
