import { ServiceError } from '../../errors/service-error.ts';
import { readSwitches } from '../../login-apps/switches.ts';
import { isActive, readSession, readSessions, type Session } from '../../sessions/session.ts';
import { sessionNamedBy } from '../../tokens/session-named-by.ts';
import type { CommandsOf } from '../commands-of.ts';
import { pageOf } from '../page-of.ts';
import { requireLoginUser } from './login-users.ts';

export const sessionCommands: CommandsOf<'sessions'> = {
  list: async ({ 'login-user': id, after }) => {
    const { login_app_id } = await requireLoginUser(id);
    const switches = await readSwitches(login_app_id);
    const active = (await readSessions(id)).filter((session) => isActive(session, switches));
    const { page, ...next } = pageOf(active, ({ session_id }) => session_id, after);
    return { login_user_id: id, sessions: page.map(shown), ...next };
  },
  show: async ({ 'login-user': id, session }) => show(id, session),
  find: async ({ token }) => {
    const named = sessionNamedBy(token);
    if (named) return show(named.loginUserId, named.sessionId);
    const message = '--token-file must hold an access token of a Login User, or a refresh token.';
    throw new ServiceError('invalid_request', message);
  },
};

async function show(login_user_id: string, sessionId: string): Promise<Record<string, unknown>> {
  const session = await readSession(login_user_id, sessionId);
  if (!session) {
    const stored = (await readSessions(login_user_id)).map(({ session_id }) => session_id);
    const message = `The Login User ${login_user_id} has no session ${sessionId}; stored are ${stored.join(', ') || 'none'}.`;
    throw new ServiceError('not_found', message);
  }
  const active = isActive(session, await readSwitches(session.login_app_id));
  return { login_user_id, ...shown(session), active };
}

const shown = ({ login_user_id: _, ...session }: Session) => session;
