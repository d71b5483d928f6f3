import { endRelationsWhere } from '../../devices/relate-device.ts';
import { epochSeconds, timestamp } from '../../foundation/clock.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import type { LogEvents } from '../../log/events.ts';
import { logEvent } from '../../log/log.ts';
import { findStatus } from '../../login-apps/status.ts';
import { lookSoon } from '../../login-users/guest-end.ts';
import type { UserIdentity } from '../../login-users/linked-identity.ts';
import { type LoginUser, loginUserItem, whileExisting } from '../../login-users/login-user.ts';
import { countersIn } from '../../login-users/sessions-of-person.ts';
import { forEachInBatches } from '../../storage/batches.ts';
import { type Item, updateItem } from '../../storage/items.ts';
import { sessionsOfProviderSessionList } from '../../storage/keys.ts';
import { readMemberPages } from '../../storage/lists.ts';
import {
  isActive,
  isOpen,
  readLoginUserWithSession,
  readPersonWithSessions,
  readSessions,
  type Session,
  sessionItem,
} from './session.ts';

/** Seconds for which an ended session is stored: longer than an unseen device stays active. */
const endedSessionSeconds = 365 * 86_400;

/**
 * Ends a session, and unlinks its devices from the person; can be repeated.
 * @param reason for subscribers, unless it is `ended`
 */
export async function endSession(
  loginUserId: string,
  sessionId: string,
  by: LogEvents['session_ended']['by'],
  reason?: Session['end_reason'],
): Promise<void> {
  const outcome = await updateItem(sessionItem(loginUserId, sessionId), {
    set: {
      ended_at: timestamp(),
      expires_at: epochSeconds() + endedSessionSeconds,
      end_reason: reason,
    },
    when: { session_id: { is: sessionId }, ended_at: { exists: false } },
  });
  if (outcome.done) {
    logEvent('session_ended', { login_user_id: loginUserId, session_id: sessionId, by });
    // A guest can't begin another session.
    const { guest } = outcome.after ?? outcome.before ?? {};
    if (guest) await lookSoon(loginUserId);
  }
  await endRelationsWhere(
    loginUserId,
    ({ related_session_id }) => related_session_id === sessionId,
  );
}

/**
 * Ends a session that a person names.
 * @throws ServiceError `not_found` when it is not theirs or over
 */
export async function endOwnSession(user: LoginUser, sessionId: string): Promise<void> {
  const { login_user_id, login_app_id } = user;
  const [{ session }, status] = await Promise.all([
    readLoginUserWithSession(login_user_id, sessionId),
    findStatus(login_app_id),
  ]);
  if (!session || !isActive(session, status))
    throw new ServiceError('not_found', 'The Login User has no such session, or it is over.');
  await endSession(login_user_id, sessionId, 'person');
}

/**
 * Ends all sessions of a Login User by one write. Their devices are unlinked before it, so that an
 * interrupted request can be repeated. The write has the number of sessions until now, so a retry
 * spares later logins and revives no session.
 * @param except the id of a session that goes on
 */
export async function endSessions(
  loginUserId: string,
  person: Item | undefined,
  by: LogEvents['sessions_ended']['by'],
  except?: string,
): Promise<void> {
  const { sessions_begun = 0 } = countersIn(person);
  await endRelationsWhere(loginUserId, ({ related_session_id }) => {
    if (related_session_id === undefined) return false;
    return related_session_id !== except;
  });
  const { done } = await updateItem(loginUserItem(loginUserId), {
    set: {
      sessions_ended_at: timestamp(),
      sessions_ended_before: sessions_begun,
      sessions_ended_except: except,
    },
    when: { ...whileExisting, sessions_ended_before: { isNotFrom: sessions_begun + 1 } },
  });
  if (done) logEvent('sessions_ended', { login_user_id: loginUserId, by });
  const isGuestsLast = person?.guest_until !== undefined && except === undefined;
  if (isGuestsLast) await lookSoon(loginUserId);
}

/**
 * The stored sessions that began in a session of a provider.
 * @param loginUserId undefined for anybody's sessions, found by an index that lags behind the table
 */
export async function findSessionsAtProvider(
  loginAppId: string,
  loginUserId: string | undefined,
  providerSession: string,
): Promise<Session[]> {
  const sessions =
    loginUserId === undefined
      ? await readListAtProvider(loginAppId, providerSession)
      : await readSessions(loginUserId);
  return sessions.filter(({ provider_session }) => provider_session === providerSession);
}

async function readListAtProvider(loginAppId: string, providerSession: string): Promise<Session[]> {
  const list = sessionsOfProviderSessionList(loginAppId, providerSession);
  const pages = await Array.fromAsync(readMemberPages(list));
  return pages.flat().map(sessionItem.parse);
}

/** Ends those of some sessions that are open and began until a time in epoch seconds. */
export async function endOpenSessions(sessions: Session[], time: number): Promise<void> {
  const ending = sessions.filter((session) => isOpen(session) && session.started_at <= time);
  await forEachInBatches(ending, ({ login_user_id, session_id }) =>
    endSession(login_user_id, session_id, 'provider'),
  );
}

/**
 * Ends the sessions that began until a time in epoch seconds, and unlinks all devices but those of
 * later sessions.
 * @param identity of the person, if only what began with it ends
 */
export async function endSessionsBegunBy(
  loginUserId: string,
  time: number,
  identity?: UserIdentity,
): Promise<void> {
  const { person, sessions } = await readPersonWithSessions(loginUserId);
  const isEnding = ({ started_at, identity_id, created_at }: Session): boolean =>
    started_at <= time && hasBegunWith(identity, identity_id, created_at);
  const open = sessions.filter(isOpen);
  const ending = open.filter(isEnding);

  // One write ends all sessions of a person.
  const isAll = ending.length === open.length;
  if (!identity && isAll && ending.length > 0) return endSessions(loginUserId, person, 'provider');

  await forEachInBatches(ending, ({ session_id }) =>
    endSession(loginUserId, session_id, 'provider'),
  );
  // Devices may be linked by sessions that have ended before, or are no longer stored.
  await endRelationsWhere(loginUserId, ({ related_session_id, related_at = '' }) => {
    if (related_session_id === undefined) return false;
    const stored = sessions.find(({ session_id }) => session_id === related_session_id);
    return stored ? isEnding(stored) : hasBegunWith(identity, undefined, related_at);
  });
}

/**
 * Whether a session or the link of a device began with an identity; with undefined for the
 * identity, whatever it began with. Sessions of 1.0.0, and sessions that are no longer stored,
 * don't say with which identity they began: they count if the identity was the person's then.
 */
function hasBegunWith(
  identity: UserIdentity | undefined,
  identityId: string | undefined,
  begunAt: string,
): boolean {
  if (!identity) return true;
  if (identityId !== undefined) return identityId === identity.identity_id;
  return begunAt >= identity.linked_at;
}
