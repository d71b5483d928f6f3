import * as v from 'valibot';
import { readCurrentDevices } from '../../devices/related-devices.ts';
import { inTurns } from '../../in-turns.ts';
import { readSwitches } from '../../login-apps/switches.ts';
import { deleteLoginUser } from '../../login-users/delete-login-user.ts';
import { endSession } from '../../login-users/end-session.ts';
import { exportLoginUser } from '../../login-users/export-login-user.ts';
import { findLoginUser } from '../../login-users/find-login-user.ts';
import { type LoginUser, loginUser, readLoginUser, setBlocked } from '../../login-users/login-user.ts';
import { peopleLists } from '../../login-users/people-of-login-app.ts';
import { ServiceError } from '../../service-error.ts';
import { isActive, isOpen, readSessions } from '../../sessions/session.ts';
import { readPage } from '../../storage/pages.ts';
import type { CommandsOf } from '../commands-of.ts';
import { requireLoginApp } from './login-apps.ts';

export const loginUserCommands: CommandsOf<'login-users'> = {
  list: async ({ 'login-app': id, after }) => {
    const { login_app_id } = await requireLoginApp(id);
    const { items, ...page } = await readPage(peopleLists(login_app_id), after);
    const people = items.map((item) => shown(v.parse(loginUser, item)));
    return { login_app_id, login_users: people, ...page };
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
    const open = (await readSessions(id)).filter(isOpen);
    await inTurns(open, ({ session_id }) => endSession(id, session_id, 'operator'));
    return { login_user_id: id, sessions_ended: open.length };
  },
  delete: async ({ 'login-user': id }) => {
    const deletion = await deleteLoginUser(id);
    if (!deletion) throw noSuchLoginUser();
    const { activeSessions, sessions, relations } = deletion;
    return {
      login_user_id: id,
      sessions_ended: activeSessions,
      removed: { sessions, device_relations: relations },
      deleted: true,
    };
  },
  export: async ({ 'login-user': id }) => exportLoginUser(await requireLoginUser(id)),
};

/** A Login User in a list. */
const shown = ({ login_app_id: _, blocked_at, ...user }: LoginUser) => ({
  ...user,
  blocked: blocked_at !== undefined,
  ...(blocked_at !== undefined && { blocked_at }),
});

/** A Login User, whether anything keeps them out, and how much belongs to them. */
async function overview(user: LoginUser): Promise<Record<string, unknown>> {
  const { login_user_id, login_app_id } = user;
  const [switches, sessions, devices] = await Promise.all([
    readSwitches(login_app_id),
    readSessions(login_user_id),
    readCurrentDevices(login_user_id),
  ]);
  return {
    login_app_id,
    ...shown(user),
    login_app_disabled: !switches.isEnabled,
    active_sessions: sessions.filter((session) => isActive(session, switches)).length,
    devices: devices.length,
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
