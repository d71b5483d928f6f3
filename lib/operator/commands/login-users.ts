import { endAllRelations } from '../../devices/end-relation.ts';
import { deleteLoginUser, readLoginUser, setBlocked } from '../../login-users/login-user.ts';
import { Refusal } from '../../refusal.ts';
import { endSession } from '../../sessions/end-session.ts';
import { readSessions } from '../../sessions/session.ts';
import type { CommandsOf } from '../operate.ts';

export const loginUserCommands: CommandsOf<'login-users'> = {
  block: ({ 'login-user': id }) => block(id, true),
  unblock: ({ 'login-user': id }) => block(id, false),
  sessions: async ({ 'login-user': id }) => {
    await requireLoginUser(id);
    const sessions = (await readSessions(id)).map(({ login_user_id: _, ...session }) => session);
    return { login_user_id: id, sessions };
  },
  logout: async ({ 'login-user': id }) => {
    await requireLoginUser(id);
    return { login_user_id: id, sessions_ended: await endSessions(id) };
  },
  /** Blocked first, so that nobody logs in while the rest goes; the user last, so that it can be repeated. */
  delete: async ({ 'login-user': id }) => {
    await block(id, true);
    const sessions_ended = await endSessions(id);
    await endAllRelations(id);
    await deleteLoginUser(id);
    return { login_user_id: id, sessions_ended, deleted: true };
  },
};

async function endSessions(id: string): Promise<number> {
  const sessions = await readSessions(id);
  await Promise.all(sessions.map(({ session_id }) => endSession(id, session_id, 'operator')));
  return sessions.length;
}

async function requireLoginUser(id: string): Promise<void> {
  if (!(await readLoginUser(id))) throw new Refusal('not_found', 'There is no such Login User.');
}

async function block(id: string, blocked: boolean): Promise<Record<string, unknown>> {
  if (!(await setBlocked(id, blocked))) throw new Refusal('not_found', 'There is no such Login User.');
  return { login_user_id: id, blocked };
}
