import { readCurrentDevices } from '../../devices/related-devices.ts';
import { readStatus } from '../../login-apps/status.ts';
import { type LoginUser, loginUserIn, setBlocked } from '../../login-users/login-user.ts';
import { peopleLists } from '../../login-users/people-of-login-app.ts';
import { deleteLoginUser } from '../../people/deletion/delete-login-user.ts';
import { exportLoginUser, identitiesOf } from '../../people/deletion/export-login-user.ts';
import { finishDeletions } from '../../people/deletion/finish-deletions.ts';
import { findLoginUser } from '../../people/identities/find-login-user.ts';
import { retryRevocations } from '../../people/identities/provider-tokens.ts';
import { endSessions } from '../../people/sessions/end-sessions.ts';
import { isActive, isOpen, readSessions } from '../../people/sessions/session.ts';
import { defineCommands } from '../command.ts';
import { optional, text } from '../flags.ts';
import { readPage } from '../pages.ts';
import {
  after,
  existing,
  loginApp,
  loginUser,
  provider,
  requireLoginApp,
  requireLoginUser,
} from './shared.ts';

export const loginUserCommands = defineCommands({
  'login-users list': {
    summary: 'List the people of a Login App',
    flags: { 'login-app': loginApp, after },
    run: async ({ 'login-app': id, after }) => {
      const { login_app_id } = await requireLoginApp(id);
      const { items, ...page } = await readPage(peopleLists(login_app_id), after);
      const people = items.map(loginUserIn).filter((user) => user !== undefined);
      return { login_app_id, login_users: people.map(loginUserShown), ...page };
    },
  },
  'login-users show': {
    summary: 'Show a Login User and whether anything keeps them out',
    flags: { 'login-user': loginUser },
    run: async ({ 'login-user': id }) => overview(await requireLoginUser(id)),
  },
  'login-users find': {
    summary: 'Show the Login User whom a provider knows by a subject',
    flags: {
      'login-app': loginApp,
      provider,
      subject: text("The provider's id of the person"),
      issuer: optional(text('Who vouches for them, if the provider has several issuers or was removed')),
    },
    run: async ({ 'login-app': id, ...identity }) => {
      const user = await findLoginUser(await requireLoginApp(id), identity);
      return overview(existing(user, 'Login User'));
    },
  },
  'login-users block': {
    summary: 'Block a Login User from logging in',
    flags: { 'login-user': loginUser },
    run: ({ 'login-user': id }) => block(id, true),
  },
  'login-users unblock': {
    summary: 'Let a blocked Login User log in again',
    flags: { 'login-user': loginUser },
    run: ({ 'login-user': id }) => block(id, false),
  },
  'login-users logout': {
    summary: 'End all sessions of a Login User',
    flags: { 'login-user': loginUser },
    run: async ({ 'login-user': id }) => {
      const user = await requireLoginUser(id);
      const open = (await readSessions(id)).filter(isOpen);
      await endSessions(id, user, 'operator');
      return { login_user_id: id, sessions_ended: open.length };
    },
  },
  // Run again, it deletes what an interrupted deletion has left, also one that the person began.
  'login-users delete': {
    summary: 'Delete a Login User, their sessions, identities and the relations of their devices',
    flags: { 'login-user': loginUser },
    run: async ({ 'login-user': id }) => {
      const deletion = existing(await deleteLoginUser(id, 'operator'), 'Login User');
      const { openSessions, sessions, relations, identities, revocations } = deletion;
      return {
        login_user_id: id,
        sessions_ended: openSessions,
        removed: { sessions, device_relations: relations, identities },
        tokens_revoked: revocations.revoked || undefined,
        tokens_not_revoked: revocations.not_revoked || undefined,
        deleted: true,
      };
    },
  },
  'login-users finish-deletions': {
    summary: 'Finish the deletions that were interrupted, as the service does every ten minutes',
    flags: {},
    run: async (_, operator) => {
      const { loginUsers, failed, isAll } = await finishDeletions({ caller: 'operator', operator });
      return {
        deleted: isAll && failed === 0,
        removed: { login_users: loginUsers, links: 0 },
        not_finished: failed || undefined,
        again_after_seconds: isAll ? undefined : 0,
      };
    },
  },
  'login-users retry-revocations': {
    summary: 'Revoke tokens at providers that did not answer at a deletion or an unlinking',
    flags: { 'login-user': loginUser },
    run: async ({ 'login-user': id }) => {
      return { login_user_id: id, ...existing(await retryRevocations(id), 'Login User') };
    },
  },
  'login-users export': {
    summary: 'Show everything that is known about a Login User, as one JSON document',
    flags: { 'login-user': loginUser },
    run: async ({ 'login-user': id }) => exportLoginUser(await requireLoginUser(id)),
  },
});

const loginUserShown = ({ blocked_at, ...user }: LoginUser) => ({
  login_user_id: user.login_user_id,
  created_at: user.created_at,
  last_login_at: user.last_login_at,
  last_session_id: user.last_session_id,
  blocked: blocked_at !== undefined,
  blocked_at,
});

async function overview(user: LoginUser): Promise<Record<string, unknown>> {
  const { login_user_id, login_app_id } = user;
  const [status, identities, sessions, devices] = await Promise.all([
    readStatus(login_app_id),
    identitiesOf(user),
    readSessions(login_user_id),
    readCurrentDevices(login_user_id),
  ]);
  return {
    login_app_id,
    ...loginUserShown(user),
    login_app_disabled: !status.isEnabled,
    active_sessions: sessions.filter((session) => isActive(session, status)).length,
    devices: devices.length,
    identities,
  };
}

async function block(id: string, blocked: boolean): Promise<Record<string, unknown>> {
  existing(await setBlocked(id, blocked), 'Login User');
  return { login_user_id: id, blocked };
}
