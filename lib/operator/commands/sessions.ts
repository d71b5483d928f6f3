import { readSwitches } from '../../login-apps/switches.ts';
import { ServiceError } from '../../service-error.ts';
import { isActive, readSession, readSessions, type Session } from '../../sessions/session.ts';
import type { CommandsOf } from '../commands-of.ts';
import { requireLoginUser } from './login-users.ts';

export const sessionCommands: CommandsOf<'sessions'> = {
  list: async ({ 'login-user': id }) => {
    const { login_app_id } = await requireLoginUser(id);
    const switches = await readSwitches(login_app_id);
    const active = (await readSessions(id)).filter((session) => isActive(session, switches));
    return { login_user_id: id, sessions: active.map(shown) };
  },
  show: async ({ 'login-user': id, session: sessionId }) => {
    const session = await readSession(id, sessionId);
    if (!session) {
      const stored = (await readSessions(id)).map(({ session_id }) => session_id).join(', ') || 'none';
      throw new ServiceError('not_found', `The Login User has no such session; stored are ${stored}.`);
    }
    const active = isActive(session, await readSwitches(session.login_app_id));
    return { login_user_id: id, ...shown(session), active };
  },
};

const shown = ({ login_user_id: _, ...session }: Session) => session;
