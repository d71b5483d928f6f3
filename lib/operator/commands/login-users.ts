import { readCurrentDevices } from '../../devices/related-devices.ts';
import { invalid, ServiceError } from '../../foundation/service-error.ts';
import { readStatus } from '../../login-apps/status.ts';
import * as loginUsers from '../../login-users/login-user.ts';
import { followForward } from '../../login-users/merged-user.ts';
import { deleteLoginUser } from '../../people/deletion/delete-login-user.ts';
import { exportLoginUser } from '../../people/deletion/export-login-user.ts';
import { finishDeletions } from '../../people/deletion/finish-deletions.ts';
import { findLoginUser, namespaceOf } from '../../people/identities/find-login-user.ts';
import { identitiesOf } from '../../people/identities/identities-of-person.ts';
import { findExternalId } from '../../people/identities/identity-index.ts';
import { importPeople, personOfLine } from '../../people/identities/import-people.ts';
import { linkIdentity } from '../../people/identities/link-identity.ts';
import { retryRevocations } from '../../people/identities/revoke-tokens.ts';
import { unlinkIdentity } from '../../people/identities/unlink-identity.ts';
import { mergeLoginUsers } from '../../people/merge/merge-login-users.ts';
import { endSessions } from '../../people/sessions/end-sessions.ts';
import { isActive, isOpen, readSessions, type Session } from '../../people/sessions/session.ts';
import { setTimestamp } from '../../storage/items.ts';
import { sessionNamedBy } from '../../tokens/access-token.ts';
import {
  defineCommands,
  existing,
  id,
  lines,
  neededReason,
  onOff,
  optional,
  secret,
  text,
} from '../command.ts';
import { pageOf, readPage, wrongPlace } from '../pages.ts';
import { after, loginApp, loginUser, loginUserId, nextPage, provider } from './shared.ts';

const subject = text("The provider's id of the person");

export const loginUserCommands = defineCommands({
  'login-users list': {
    summary: 'List the people of a Login App',
    flags: { 'login-app': loginApp, after },
    run: async ({ 'login-app': { login_app_id }, after }) => {
      const { items, ...page } = await readPage(loginUsers.peopleLists(login_app_id), after);
      const people = items.map(loginUsers.loginUserIn).filter((user) => user !== undefined);
      return { login_app_id, login_users: people.map(loginUserShown), ...page };
    },
  },
  'login-users show': {
    summary: 'Show a Login User and whether anything keeps them out',
    flags: { 'login-user': loginUserId },
    run: async ({ 'login-user': id }) => {
      const { id: current, user } = await followForward(id);
      const forward = current === id ? {} : { asked_for: id, merged_into: current };
      return { ...forward, ...(await overview(existing(user, 'Login User'))) };
    },
  },
  'login-users find': {
    summary:
      'Show the Login User whom a provider knows by a subject, or who was imported with an external id',
    flags: {
      'login-app': loginApp,
      provider: optional(provider),
      subject: optional(subject),
      issuer: optional(text('Their issuer, if the provider has several or was removed')),
      'external-id': optional(text('Their id in the system that they were imported from')),
    },
    example: '--login-app "$LOGIN_APP" --provider provider_a --subject "$SUBJECT"',
    run: async ({ 'login-app': app, provider, subject, issuer, 'external-id': externalId }) => {
      if (externalId !== undefined && provider === undefined && subject === undefined)
        return overview(
          existing((await findExternalId(app.login_app_id, externalId)).user, 'Login User'),
        );
      if (provider === undefined || subject === undefined || externalId !== undefined)
        throw invalid('Give --provider and --subject, or --external-id.');
      return overview(
        existing(await findLoginUser(app, { provider, subject, issuer }), 'Login User'),
      );
    },
  },
  'login-users import': {
    summary:
      'Add the people of a file with their identities; run it again to continue after an interruption',
    flags: {
      'login-app': loginApp,
      people: lines(
        'A file of JSON objects, one per line: provider, issuer or namespace, subject, external_id',
        personOfLine,
      ),
      'dry-run': onOff('Change nothing: check the lines, and count them by issuer'),
      replace: onOff(
        "Unlink a person's other identities at an issuer of their lines: these take their place",
      ),
    },
    run: ({ 'login-app': app, people, 'dry-run': dryRun = false, replace = false }) =>
      importPeople(app, people, { dryRun, replace }),
  },
  'login-users block': {
    summary: 'Block a Login User from logging in',
    flags: { 'login-user': loginUserId },
    run: ({ 'login-user': id }) => block(id, true),
  },
  'login-users unblock': {
    summary: 'Let a blocked Login User log in again',
    flags: { 'login-user': loginUserId },
    run: ({ 'login-user': id }) => block(id, false),
  },
  'login-users merge': {
    summary:
      'Merge two Login Users: one gets the identities and devices of the other, who is gone. It cannot be undone',
    flags: {
      'login-user': id(
        'lu_…',
        'The Login User who is kept, with id and profile',
        'login-users find',
      ),
      'given-up': id('lu_…', 'The Login User who is gone afterwards', 'login-users find'),
      reason: neededReason,
    },
    run: async ({ 'login-user': keptId, 'given-up': givenUpId }) => {
      await requirePair(keptId, givenUpId);
      const merge = await mergeLoginUsers({ keptId, givenUpId });
      return { login_user_id: keptId, merged_from: givenUpId, ...merge, merged: true };
    },
  },
  'login-users logout': {
    summary: 'End all sessions of a Login User',
    flags: { 'login-user': loginUser },
    run: async ({ 'login-user': user }) => {
      const { login_user_id } = user;
      const open = (await readSessions(login_user_id)).filter(isOpen);
      await endSessions(login_user_id, user, 'operator');
      return { login_user_id, sessions_ended: open.length };
    },
  },
  // Run again, it deletes what an interrupted deletion has left, also one that the person began.
  'login-users delete': {
    summary: 'Delete a Login User, their sessions, identities and the relations of their devices',
    flags: { 'login-user': loginUserId },
    run: async ({ 'login-user': id }) =>
      existing(await deleteLoginUser(id, 'operator'), 'Login User'),
  },
  'login-users finish-deletions': {
    isMachinery: true,
    summary: 'Finish the deletions that were interrupted, as the service does every minute',
    flags: {},
    run: (_, operator) => finishDeletions({ caller: 'operator', operator }),
  },
  'login-users retry-revocations': {
    summary: 'Revoke tokens at providers that did not answer at a deletion or an unlinking',
    flags: { 'login-user': loginUserId },
    run: async ({ 'login-user': id }) => existing(await retryRevocations(id), 'Login User'),
  },
  'login-users export': {
    summary: 'Show everything that is known about a Login User, as one JSON document',
    flags: { 'login-user': loginUser },
    run: ({ 'login-user': user }) => exportLoginUser(user),
  },
  'identities list': {
    summary: 'List the identities that a Login User can log in with',
    flags: { 'login-user': loginUser },
    run: async ({ 'login-user': user }) => ({
      login_user_id: user.login_user_id,
      identities: identitiesOf(user),
    }),
  },
  'identities remove': {
    summary: 'Unlink an identity from a Login User, who must have another one',
    flags: { 'login-user': loginUser, identity: id('i_…', 'The identity', 'identities list') },
    run: async ({ 'login-user': { login_user_id }, identity: identity_id }) => {
      await unlinkIdentity({ login_user_id, identity_id }, { byOperator: true });
      return { login_user_id, identity_id, removed: true };
    },
  },
  'identities add': {
    summary: 'Link an identity to a Login User',
    flags: {
      'login-user': loginUser,
      provider,
      subject,
      issuer: optional(text('Their issuer, if the provider has several')),
      move: onOff('Take it from another Login User who has it'),
    },
    run: async ({ 'login-user': user, provider, subject, issuer, move = false }) => {
      const namespace = namespaceOf(await loginApp.find(user.login_app_id), { provider, issuer });
      const verified = { namespace, subject };
      const { isNew, identity } = await linkIdentity(user, provider, verified, {
        byOperator: true,
        move,
      });
      return {
        login_user_id: user.login_user_id,
        identity_id: identity.id,
        provider,
        added: isNew,
      };
    },
  },
  'sessions list': {
    summary: 'List the active sessions of a Login User, the oldest first',
    flags: { 'login-user': loginUser, after: optional(id('s_…', nextPage)) },
    run: async ({ 'login-user': { login_user_id, login_app_id }, after }) => {
      const status = await readStatus(login_app_id);
      const stored = (await readSessions(login_user_id)).toSorted(byStart);
      const place = stored.findIndex(({ session_id }) => session_id === after);
      if (after !== undefined && place < 0) throw wrongPlace();
      const active = stored.slice(place + 1).filter((session) => isActive(session, status));
      const { page, ...next } = pageOf(active, ({ session_id }) => session_id);
      return { login_user_id, sessions: page.map(sessionShown), ...next };
    },
  },
  'sessions find': {
    summary: 'Show the session that an access token or a refresh token belongs to',
    flags: { token: secret('A file with the token, which may have expired; - for standard input') },
    run: async ({ token }) => {
      const named = sessionNamedBy(token);
      if (named) return showSession(named.loginUserId, named.sessionId);
      throw invalid('--token-file must hold an access token of a Login User, or a refresh token.');
    },
  },
  'sessions show': {
    summary: 'Show a session and whether it is active',
    flags: {
      'login-user': loginUserId,
      session: id('s_…', 'The session: the sid of its tokens', 'sessions list'),
    },
    run: ({ 'login-user': loginUserId, session }) => showSession(loginUserId, session),
  },
});

const loginUserShown = ({ blocked_at, ...user }: loginUsers.LoginUser) => ({
  login_user_id: user.login_user_id,
  external_id: user.external_id,
  guest: loginUsers.guestClaim(user),
  created_at: user.created_at,
  last_login_at: loginUsers.latestLoginOf(user),
  last_session_id: user.last_session_id,
  blocked: blocked_at !== undefined,
  blocked_at,
});

async function overview(user: loginUsers.LoginUser) {
  const { login_user_id, login_app_id } = user;
  const [status, sessions, devices] = await Promise.all([
    readStatus(login_app_id),
    readSessions(login_user_id),
    readCurrentDevices(login_user_id),
  ]);
  return {
    login_app_id,
    ...loginUserShown(user),
    login_app_disabled: !status.isEnabled,
    active_sessions: sessions.filter((session) => isActive(session, status)).length,
    devices: devices.length,
    identities: identitiesOf(user),
  };
}

/** @throws ServiceError `not_found` for one who was never there, or was deleted */
async function requirePair(...ids: string[]): Promise<void> {
  const people = await Promise.all(ids.map(followForward));
  for (const { user } of people) existing(user, 'Login User');
}

async function block(id: string, blocked: boolean) {
  const item = loginUsers.loginUserItem(id);
  existing(await setTimestamp(item, 'blocked_at', blocked, loginUsers.whileExisting), 'Login User');
  return { login_user_id: id, blocked };
}

const byStart = (a: Session, b: Session): number =>
  a.started_at - b.started_at || (a.session_id < b.session_id ? -1 : 1);

async function showSession(login_user_id: string, sessionId: string) {
  const sessions = await readSessions(login_user_id);
  const session = sessions.find(({ session_id }) => session_id === sessionId);
  if (!session) {
    const stored = sessions.map(({ session_id }) => session_id).join(', ') || 'none';
    const message = `The Login User ${login_user_id} has no session ${sessionId}; stored are ${stored}.`;
    throw new ServiceError('not_found', message);
  }
  const active = isActive(session, await readStatus(session.login_app_id));
  return { login_user_id, ...sessionShown(session), active };
}

const sessionShown = ({ login_user_id: _, ...session }: Session) => session;
