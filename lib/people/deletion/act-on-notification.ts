import { isoTime } from '../../foundation/clock.ts';
import type { LogEvents } from '../../log/events.ts';
import { annotateLog } from '../../log/request-fields.ts';
import type { UserIdentity } from '../../login-users/linked-identity.ts';
import { type LoginUser, loginUserItem, whileExisting } from '../../login-users/login-user.ts';
import type { Notification } from '../../providers/notifications/notification.ts';
import { retryOnConflict } from '../../storage/batches.ts';
import { updateItem } from '../../storage/items.ts';
import { findIndexItem, type IdentityOwner, ownerOf } from '../identities/identity-index.ts';
import { otherThan, unlinkForProvider } from '../identities/unlink-identity.ts';
import { endSessionsAtProvider, endSessionsBegunBy } from '../sessions/end-sessions.ts';
import { deleteLoginUser } from './delete-login-user.ts';

/** The effect of a notification, and the person whom it was about. */
export type Outcome = LogEvents['provider_notified'];

/** Does what a notification of a provider says, about a person or about a session alone. */
export async function actOn(
  loginAppId: string,
  notification: Notification,
  signal: AbortSignal | undefined,
): Promise<Outcome> {
  const { kind, person, action } = notification;
  let first: IdentityOwner | undefined;
  const actOnce = async (): Promise<Outcome | undefined> => {
    const owner = person && (await ownerOf(await findIndexItem(loginAppId, person)));
    if (owner) {
      annotateLog({ login_user_id: owner.user.login_user_id });
      first ??= owner;
      const outdated = isOutdated(owner, first, notification);
      return actOnOwner(owner, notification, { outdated, signal });
    }
    if (action === 'nothing') return { kind, outcome: 'nothing' };
    // Without a person, the session may be anybody's.
    const ended = person ? undefined : await endAtProvider(loginAppId, undefined, notification);
    return ended ?? { kind, outcome: 'person_unknown' };
  };
  return retryOnConflict(actOnce, 'The person keeps changing.');
}

/**
 * Whether the person has logged in with the identity since the notification, or since they were
 * first read.
 */
function isOutdated(
  { identity }: IdentityOwner,
  first: IdentityOwner,
  { issuedAt }: Notification,
): boolean {
  if (issuedAt < latestLogin(identity)) return true;
  return identity.last_login_at !== first.identity.last_login_at;
}

/** Epoch seconds of the latest login with an identity, or of when it was linked or imported. */
const latestLogin = ({ last_login_at, linked_at }: UserIdentity): number =>
  Math.floor(Date.parse(last_login_at ?? linked_at) / 1000);

/**
 * Does what a notification says about an identity. It speaks for the whole person only if they have
 * no other: whoever could link one to somebody's account must not gain power over the account.
 * @returns undefined when the person has changed since they were read
 */
async function actOnOwner(
  { user, identity }: IdentityOwner,
  notification: Notification,
  { outdated, signal }: { outdated: boolean; signal: AbortSignal | undefined },
): Promise<Outcome | undefined> {
  const { kind, issuedAt, action, isHijacking = false } = notification;
  const { login_user_id, login_app_id } = user;
  const about = { kind, login_user_id };

  // 1. Subscribers are told of a hijacking, whatever the action.
  if (isHijacking && !outdated) await noteHijacking(login_user_id, issuedAt);
  if (action === 'nothing') return { ...about, outcome: 'nothing' };

  // 2. A session of the provider ends alone.
  const ended = await endAtProvider(login_app_id, login_user_id, notification);
  if (ended) return ended;
  if (outdated) return { ...about, outcome: 'outdated' };

  // 3. A person who left goes. One who is blocked could come back as somebody new.
  const other = otherThan(user, identity);
  const isLeaving = action === 'delete' && user.blocked_at === undefined;
  if (isLeaving && !other) {
    const isDeleted = await deleteUnchanged(user, signal);
    return isDeleted ? { ...about, outcome: 'deleted' } : undefined;
  }

  // 4. One who has another identity loses what began with this one, and perhaps the identity.
  await endSessionsBegunBy(login_user_id, issuedAt, other && identity);
  if (!isLeaving || !other) return { ...about, outcome: 'sessions_ended' };
  const unlinking = { user, identity, other, when: noLoginSince(user) };
  const isUnlinked = await unlinkForProvider(unlinking, signal);
  return isUnlinked ? { ...about, outcome: 'unlinked' } : undefined;
}

async function noteHijacking(loginUserId: string, issuedAt: number): Promise<void> {
  await updateItem(loginUserItem(loginUserId), {
    set: { hijacked_at: isoTime(issuedAt) },
    when: whileExisting,
  });
}

/** Conditions that a person has not logged in since they were read. */
const noLoginSince = ({ sessions_begun }: LoginUser) => ({
  sessions_begun: { is: sessions_begun },
});

/** Deletes a person, unless they have logged in or linked another identity since they were read. */
async function deleteUnchanged(user: LoginUser, signal: AbortSignal | undefined): Promise<boolean> {
  const { login_user_id, linked_identities } = user;
  const when = { ...noLoginSince(user), linked_identities: { is: linked_identities } };
  const deletion = await deleteLoginUser(login_user_id, 'provider', { signal, when });
  return deletion !== undefined;
}

/**
 * Ends the session that began in the provider's session which a notification names.
 * @param loginUserId undefined for anybody's
 * @returns undefined if it names none that is stored
 */
async function endAtProvider(
  loginAppId: string,
  loginUserId: string | undefined,
  { kind, providerSession, issuedAt, action }: Notification,
): Promise<Outcome | undefined> {
  if (action !== 'end_sessions' || providerSession === undefined) return undefined;
  const login_user_id = await endSessionsAtProvider(
    loginAppId,
    loginUserId,
    providerSession,
    issuedAt,
  );
  if (login_user_id === undefined) return undefined;
  annotateLog({ login_user_id });
  return { kind, outcome: 'session_ended', login_user_id };
}
