import { isoTime } from '../../foundation/clock.ts';
import type { LogEvents } from '../../log/events.ts';
import { annotateLog } from '../../log/request-fields.ts';
import type { Identity, UserIdentity } from '../../login-users/linked-identity.ts';
import { type LoginUser, loginUserItem, whileExisting } from '../../login-users/login-user.ts';
import type { Notification } from '../../providers/notifications/notification.ts';
import { retryOnConflict } from '../../storage/batches.ts';
import { updateItem } from '../../storage/items.ts';
import { deleteLoginUser } from '../deletion/delete-login-user.ts';
import { findIndexItem, type IdentityOwner, ownerOf } from '../identities/identity-index.ts';
import { forgetAccess } from '../identities/revoke-tokens.ts';
import { otherThan, unlinkForProvider } from '../identities/unlink-identity.ts';
import {
  endOpenSessions,
  endSessionsBegunBy,
  findSessionsAtProvider,
} from '../sessions/end-sessions.ts';
import type { Session } from '../sessions/session.ts';

/** The effect of a notification, and the person whom it was about. */
export type Outcome = LogEvents['provider_notified'];

/** A notification about a person, with what is stored of them. */
interface Case {
  notification: Notification;
  user: LoginUser;
  /** The identity that the notification is about. */
  identity: UserIdentity;
  /** Another identity of the person, if they have one. */
  other: UserIdentity | undefined;
  /** Whether they have logged in with the identity since the notification. */
  isOutdated: boolean;
  /** The sessions that began in the provider's session, if it names one that is to end. */
  namedSessions: Session[];
  signal: AbortSignal | undefined;
}

/** Does what a notification of a provider says, about a person or about a session alone. */
export async function actOn(
  loginAppId: string,
  notification: Notification,
  signal: AbortSignal | undefined,
): Promise<Outcome> {
  const { kind, person, issuedAt, isHijacking = false } = notification;
  let firstRead: IdentityOwner | undefined;

  const actOnce = async (): Promise<Outcome | undefined> => {
    // 1. What is stored of the person.
    const owner = person && (await findOwner(loginAppId, person));
    if (!owner) return actWithoutPerson(loginAppId, notification);
    firstRead ??= owner;
    const { user, identity } = owner;
    const { login_user_id } = user;
    annotateLog({ login_user_id });

    // 2. Subscribers are told of some events, whatever else is decided. Whoever has hijacked the
    // account may have given the access to it.
    const isOutdated = hasLoggedInSince(owner, firstRead, notification);
    const reportedAt = isoTime(issuedAt);
    if (isHijacking && !isOutdated) {
      await note(login_user_id, { hijacked_at: reportedAt });
      await forgetAccess({ login_user_id, identity_id: identity.identity_id }, signal);
    }
    if (kind === 'email_enabled') await note(login_user_id, { email_enabled_at: reportedAt });
    if (kind === 'email_disabled') await note(login_user_id, { email_disabled_at: reportedAt });

    // 3. The outcome that is due.
    const namedSessions = await readNamedSessions(loginAppId, login_user_id, notification);
    const other = otherThan(user, identity);
    const about = { notification, user, identity, other, isOutdated, namedSessions, signal };
    const outcome = decide(about);

    // 4. What has to be done for it.
    const isDone = await doers[outcome](about);
    return isDone ? { kind, outcome, login_user_id } : undefined;
  };
  return retryOnConflict(actOnce, 'The person keeps changing.');
}

async function findOwner(loginAppId: string, person: Identity): Promise<IdentityOwner | undefined> {
  const indexItem = await findIndexItem(loginAppId, person);
  return ownerOf(indexItem);
}

/**
 * Does what a notification says that leads to nobody: it may name a session alone, which may be
 * anybody's.
 */
async function actWithoutPerson(loginAppId: string, notification: Notification): Promise<Outcome> {
  const { kind, person, issuedAt, action } = notification;
  if (action === 'nothing') return { kind, outcome: 'nothing' };
  if (person) return { kind, outcome: 'person_unknown' };
  const sessions = await readNamedSessions(loginAppId, undefined, notification);
  const [session] = sessions;
  if (!session) return { kind, outcome: 'person_unknown' };
  await endOpenSessions(sessions, issuedAt);
  const { login_user_id } = session;
  annotateLog({ login_user_id });
  return { kind, outcome: 'session_ended', login_user_id };
}

/**
 * The stored sessions that began in the provider's session which a notification names, if it is to
 * end. Nothing is read otherwise.
 * @param loginUserId undefined for anybody's
 */
async function readNamedSessions(
  loginAppId: string,
  loginUserId: string | undefined,
  { providerSession, action }: Notification,
): Promise<Session[]> {
  if (action !== 'end_sessions' || providerSession === undefined) return [];
  return findSessionsAtProvider(loginAppId, loginUserId, providerSession);
}

/**
 * Whether the person has logged in with the identity since the notification, or since they were
 * first read.
 */
function hasLoggedInSince(
  { identity }: IdentityOwner,
  firstRead: IdentityOwner,
  { issuedAt }: Notification,
): boolean {
  if (issuedAt < latestLogin(identity)) return true;
  return identity.last_login_at !== firstRead.identity.last_login_at;
}

/** Epoch seconds of the latest login with an identity, or of when it was linked or imported. */
const latestLogin = ({ last_login_at, linked_at }: UserIdentity): number =>
  Math.floor(Date.parse(last_login_at ?? linked_at) / 1000);

/**
 * The outcome that a notification about a person is to have. It speaks for the whole person only if
 * they have no other identity: whoever could link one to somebody's account must not gain power
 * over the account.
 */
function decide({
  notification,
  user,
  other,
  isOutdated,
  namedSessions,
}: Case): keyof typeof doers {
  const { action } = notification;
  if (action === 'nothing') return 'nothing';

  // A session of the provider ends alone, even if the person has logged in since.
  if (namedSessions.length > 0) return 'session_ended';
  if (isOutdated) return 'outdated';

  // Who is blocked stays: they could come back as somebody new.
  const isLeaving = action === 'delete' && user.blocked_at === undefined;
  if (!isLeaving) return 'sessions_ended';
  return other ? 'unlinked' : 'deleted';
}

/** Does what an outcome means. Gives false when the person has changed since they were read. */
type Doer = (about: Case) => Promise<boolean>;

const doers = {
  nothing: async () => true,
  outdated: async () => true,
  session_ended: endNamedSessions,
  sessions_ended: endSessionsOfIdentity,
  unlinked: unlink,
  deleted: deleteUnchanged,
} satisfies Record<string, Doer>;

async function endNamedSessions({ namedSessions, notification }: Case): Promise<boolean> {
  await endOpenSessions(namedSessions, notification.issuedAt);
  return true;
}

/** Ends what began with the identity, or all sessions of a person without another identity. */
async function endSessionsOfIdentity(about: Case): Promise<boolean> {
  const { user, identity, other, notification } = about;
  const only = other ? identity : undefined;
  await endSessionsBegunBy(user.login_user_id, notification.issuedAt, only);
  return true;
}

/** Ends what began with the identity, and unlinks it, unless they have logged in meanwhile. */
async function unlink(about: Case): Promise<boolean> {
  const { user, identity, signal } = about;
  await endSessionsOfIdentity(about);
  return unlinkForProvider({ user, identity }, noLoginSince(user), signal);
}

/** Deletes a person, unless they have logged in or linked another identity since they were read. */
async function deleteUnchanged({ user, signal }: Case): Promise<boolean> {
  const { login_user_id, linked_identities } = user;
  const when = { ...noLoginSince(user), linked_identities: { is: linked_identities } };
  const deletion = await deleteLoginUser(login_user_id, 'provider', { signal, when });
  return deletion !== undefined;
}

/** Conditions that a person has not logged in since they were read. */
const noLoginSince = ({ sessions_begun }: LoginUser) => ({
  sessions_begun: { is: sessions_begun },
});

/** Notes on a person when a provider reported something, which is published as an event. */
async function note(loginUserId: string, set: ReportTimes): Promise<void> {
  await updateItem(loginUserItem(loginUserId), { set, when: whileExisting });
}
type ReportTimes = Pick<LoginUser, 'hijacked_at' | 'email_enabled_at' | 'email_disabled_at'>;
