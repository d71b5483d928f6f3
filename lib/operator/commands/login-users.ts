import { endAllRelations } from '../../devices/end-relation.ts';
import { readSwitches } from '../../login-apps/switches.ts';
import { endSession } from '../../login-users/end-session.ts';
import { deleteLoginUser, readLoginUser, setBlocked } from '../../login-users/login-user.ts';
import { ServiceError } from '../../service-error.ts';
import { isActive, isOpen, readSessions, removeSession, type Session } from '../../sessions/session.ts';
import type { CommandsOf } from '../commands-of.ts';

export const loginUserCommands: CommandsOf<'login-users'> = {
  block: ({ 'login-user': id }) => block(id, true),
  unblock: ({ 'login-user': id }) => block(id, false),
  sessions: async ({ 'login-user': id }) => {
    const { login_app_id } = await requireLoginUser(id);
    const switches = await readSwitches(login_app_id);
    const sessions = (await readSessions(id))
      .filter((session) => isActive(session, switches))
      .map(({ login_user_id: _, ...session }) => session);
    return { login_user_id: id, sessions };
  },
  logout: async ({ 'login-user': id }) => {
    await requireLoginUser(id);
    const open = (await readSessions(id)).filter(isOpen);
    await inTurns(open, ({ session_id }) => endSession(id, session_id, 'operator'));
    return { login_user_id: id, sessions_ended: open.length };
  },
  /**
   * Blocks the user first, so that they don't log in while the rest is deleted. A device that the index does not show
   * yet is not theirs either: a relation ends with its Login User. Run again, the command deletes what is left.
   */
  delete: async ({ 'login-user': id }) => {
    const exists = await setBlocked(id, true);
    const sessions = await readSessions(id);
    await inTurns(sessions, ({ session_id }) => removeSession(id, session_id));
    const relations = await endAllRelations(id);
    if (!exists && sessions.length === 0 && relations === 0) throw noSuchLoginUser();
    await deleteLoginUser(id);
    return { login_user_id: id, sessions_ended: sessions.filter(isOpen).length, deleted: true };
  },
};

/** How many sessions are ended side by side. */
const atOnce = 25;

async function inTurns(sessions: Session[], end: (session: Session) => Promise<unknown>): Promise<void> {
  for (let start = 0; start < sessions.length; start += atOnce) {
    await Promise.all(sessions.slice(start, start + atOnce).map(end));
  }
}

async function requireLoginUser(id: string) {
  const user = await readLoginUser(id);
  if (!user) throw noSuchLoginUser();
  return user;
}

async function block(id: string, blocked: boolean): Promise<Record<string, unknown>> {
  if (!(await setBlocked(id, blocked))) throw noSuchLoginUser();
  return { login_user_id: id, blocked };
}

const noSuchLoginUser = (): ServiceError => new ServiceError('not_found', 'There is no such Login User.');
