import { readCurrentDevices } from '../../devices/related-devices.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { findLoginUser } from '../../identities/find-login-user.ts';
import { retryRevocations } from '../../identities/revoke-kept-tokens.ts';
import { readSwitches } from '../../login-apps/switches.ts';
import { type LoginUser, loginUserIn, readLoginUser, setBlocked } from '../../login-users/login-user.ts';
import { peopleLists } from '../../login-users/people-of-login-app.ts';
import { deleteLoginUser } from '../../offboarding/delete-login-user.ts';
import { exportLoginUser, identitiesOf } from '../../offboarding/export-login-user.ts';
import { endSessions } from '../../sessions/end-sessions.ts';
import { isActive, readSessions } from '../../sessions/session.ts';
import { readPage } from '../../storage/pages.ts';
import type { CommandsOf } from '../commands-of.ts';
import { requireLoginApp } from './login-apps.ts';

export const loginUserCommands: CommandsOf<'login-users'> = {
  list: async ({ 'login-app': id, after }) => {
    const { login_app_id } = await requireLoginApp(id);
    const { items, ...page } = await readPage(peopleLists(login_app_id), after);
    const people = items.map(loginUserIn).filter((user) => user !== undefined);
    return { login_app_id, login_users: people.map(shown), ...page };
  },
  show: async ({ 'login-user': id }) => overview(await requireLoginUser(id)),
  find: async ({ 'login-app': id, provider, subject, issuer }) => {
    const user = await findLoginUser(await requireLoginApp(id), { provider, subject, issuer });
    if (!user) throw noSuchLoginUser();
    return overview(user);
  },
  block: ({ 'login-user': id }) => block(id, true),
  unblock: ({ 'login-user': id }) => block(id, false),
  logout: async ({ 'login-user': id }) => {
    await requireLoginUser(id);
    return { login_user_id: id, sessions_ended: await endSessions(id, 'operator') };
  },
  /** Run again, the command deletes what an interrupted deletion has left, also one that the person began. */
  delete: async ({ 'login-user': id }) => {
    const deletion = await deleteLoginUser(id, 'operator');
    if (!deletion) throw noSuchLoginUser();
    const { openSessions, sessions, relations, identities, revocations } = deletion;
    const { revoked: tokens_revoked, not_revoked: tokens_not_revoked } = revocations;
    return {
      login_user_id: id,
      sessions_ended: openSessions,
      removed: { sessions, device_relations: relations, identities },
      ...(tokens_revoked > 0 && { tokens_revoked }),
      ...(tokens_not_revoked > 0 && { tokens_not_revoked }),
      deleted: true,
    };
  },
  export: async ({ 'login-user': id }) => exportLoginUser(await requireLoginUser(id)),
  'retry-revocations': async ({ 'login-user': id }) => {
    const outcome = await retryRevocations(id);
    if (!outcome) throw noSuchLoginUser();
    return { login_user_id: id, ...outcome };
  },
};

/** A Login User in a list. */
const shown = ({ login_user_id, created_at, last_login_at, last_session_id, blocked_at }: LoginUser) => ({
  login_user_id,
  created_at,
  last_login_at,
  last_session_id,
  blocked: blocked_at !== undefined,
  ...(blocked_at !== undefined && { blocked_at }),
});

/** A Login User, whether anything keeps them out, and what belongs to them. */
async function overview(user: LoginUser): Promise<Record<string, unknown>> {
  const { login_user_id, login_app_id } = user;
  const [switches, identities, sessions, devices] = await Promise.all([
    readSwitches(login_app_id),
    identitiesOf(user),
    readSessions(login_user_id),
    readCurrentDevices(login_user_id),
  ]);
  return {
    login_app_id,
    ...shown(user),
    login_app_disabled: !switches.isEnabled,
    active_sessions: sessions.filter((session) => isActive(session, switches)).length,
    devices: devices.length,
    identities,
  };
}

/** The Login User of a command. @throws ServiceError when there is none */
export async function requireLoginUser(id: string): Promise<LoginUser> {
  const user = await readLoginUser(id);
  if (!user) throw noSuchLoginUser();
  return user;
}

async function block(id: string, blocked: boolean): Promise<Record<string, unknown>> {
  if (!(await setBlocked(id, blocked))) throw noSuchLoginUser();
  return { login_user_id: id, blocked };
}

const noSuchLoginUser = (): ServiceError => new ServiceError('not_found', 'There is no such Login User.');
