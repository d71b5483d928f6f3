import { readSwitches } from '../../login-apps/switches.ts';
import { deleteLoginUser } from '../../login-users/delete-login-user.ts';
import { endSessions } from '../../login-users/end-sessions.ts';
import { readLoginUser, setBlocked } from '../../login-users/login-user.ts';
import { retryRevocations } from '../../login-users/revoke-kept-tokens.ts';
import { ServiceError } from '../../service-error.ts';
import { isActive, readSessions } from '../../sessions/session.ts';
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
    return { login_user_id: id, sessions_ended: await endSessions(id, 'operator') };
  },
  /** Run again, the command deletes what an interrupted deletion has left, also one that the person began. */
  delete: async ({ 'login-user': id }) => {
    const deletion = await deleteLoginUser(id, 'operator');
    if (!deletion) throw noSuchLoginUser();
    const { openSessions: sessions_ended, tokensLeft: tokens_not_revoked } = deletion;
    return {
      login_user_id: id,
      sessions_ended,
      ...(tokens_not_revoked > 0 && { tokens_not_revoked }),
      deleted: true,
    };
  },
  'retry-revocations': async ({ 'login-user': id }) => {
    const outcome = await retryRevocations(id);
    if (!outcome) throw new ServiceError('not_found', 'No deleted Login User has this id.');
    return { login_user_id: id, ...outcome };
  },
};

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
