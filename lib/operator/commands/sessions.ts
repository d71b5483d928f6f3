import { ServiceError } from '../../foundation/service-error.ts';
import { readStatus } from '../../login-apps/status.ts';
import { isActive, readSessions, type Session } from '../../people/sessions/session.ts';
import { sessionNamedBy } from '../../tokens/access-token.ts';
import { defineCommands } from '../command.ts';
import { id, optional, secret } from '../flags.ts';
import { pageOf, wrongPlace } from '../pages.ts';
import { loginUser, nextPage, requireLoginUser } from './shared.ts';

export const sessionCommands = defineCommands({
  'sessions list': {
    summary: 'List the active sessions of a Login User, the oldest first',
    flags: { 'login-user': loginUser, after: optional(id('s_…', nextPage)) },
    run: async ({ 'login-user': login_user_id, after }) => {
      const { login_app_id } = await requireLoginUser(login_user_id);
      const status = await readStatus(login_app_id);
      const stored = (await readSessions(login_user_id)).toSorted(byStart);
      const place = stored.findIndex(({ session_id }) => session_id === after);
      if (after !== undefined && place < 0) throw wrongPlace();
      const active = stored.slice(place + 1).filter((session) => isActive(session, status));
      const { page, ...next } = pageOf(active, ({ session_id }) => session_id, undefined);
      return { login_user_id, sessions: page.map(sessionShown), ...next };
    },
  },
  'sessions find': {
    summary: 'Show the session that an access token or a refresh token belongs to',
    flags: { token: secret('A file with the token, which may have expired; - for standard input') },
    run: async ({ token }) => {
      const named = sessionNamedBy(token);
      if (named) return show(named.loginUserId, named.sessionId);
      const message = '--token-file must hold an access token of a Login User, or a refresh token.';
      throw new ServiceError('invalid_request', message);
    },
  },
  'sessions show': {
    summary: 'Show a session and whether it is active',
    flags: {
      'login-user': loginUser,
      session: id('s_…', 'The session: the sid of its tokens', 'sessions list'),
    },
    run: ({ 'login-user': loginUserId, session }) => show(loginUserId, session),
  },
});

const byStart = (a: Session, b: Session): number =>
  a.started_at - b.started_at || (a.session_id < b.session_id ? -1 : 1);

async function show(login_user_id: string, sessionId: string): Promise<Record<string, unknown>> {
  const sessions = await readSessions(login_user_id);
  const session = sessions.find(({ session_id }) => session_id === sessionId);
  if (!session) {
    const stored = sessions.map(({ session_id }) => session_id);
    const message = `The Login User ${login_user_id} has no session ${sessionId}; stored are ${stored.join(', ') || 'none'}.`;
    throw new ServiceError('not_found', message);
  }
  const active = isActive(session, await readStatus(session.login_app_id));
  return { login_user_id, ...sessionShown(session), active };
}

const sessionShown = ({ login_user_id: _, ...session }: Session) => session;
