import { endRelationsWhere } from '../../devices/relate-device.ts';
import { epochSeconds, timestamp } from '../../foundation/clock.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import type { LogEvents } from '../../log/events.ts';
import { logEvent } from '../../log/log.ts';
import { findStatus } from '../../login-apps/status.ts';
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
const markSeconds = 365 * 86_400;

/**
 * Ends a session and the relations of its devices; can be repeated.
 * @param reason for subscribers, unless it is `ended`
 */
export async function endSession(
  loginUserId: string,
  sessionId: string,
  by: LogEvents['session_ended']['by'],
  reason?: Session['end_reason'],
): Promise<void> {
  const { done } = await updateItem(sessionItem(loginUserId, sessionId), {
    set: { ended_at: timestamp(), expires_at: epochSeconds() + markSeconds, end_reason: reason },
    when: { session_id: { is: sessionId }, ended_at: { exists: false } },
  });
  if (done) logEvent('session_ended', { login_user_id: loginUserId, session_id: sessionId, by });
  await endRelationsWhere(
    loginUserId,
    ({ related_session_id }) => related_session_id === sessionId,
  );
}

/**
 * Ends a session that a person names.
 * @throws ServiceError `not_found` when it is not theirs or over
 */
export async function endOwnSession({ login_user_id, login_app_id }: LoginUser, sessionId: string) {
  const [{ session }, status] = await Promise.all([
    readLoginUserWithSession(login_user_id, sessionId),
    findStatus(login_app_id),
  ]);
  if (!session || !isActive(session, status))
    throw new ServiceError('not_found', 'The Login User has no such session, or it is over.');
  await endSession(login_user_id, sessionId, 'person');
}

/**
 * Ends all sessions of a Login User by one write, after the relations of devices, so that an
 * interrupted request can be repeated. The write has the number of sessions, so a retry spares
 * later logins and revives no session.
 * @param except the id of a session that goes on
 */
export async function endSessions(
  loginUserId: string,
  person: Item | undefined,
  by: LogEvents['sessions_ended']['by'],
  except?: string,
): Promise<void> {
  const { sessions_begun = 0 } = countersIn(person);
  await endRelationsWhere(
    loginUserId,
    ({ related_session_id: id }) => id !== undefined && id !== except,
  );
  const { done } = await updateItem(loginUserItem(loginUserId), {
    set: {
      sessions_ended_at: timestamp(),
      sessions_ended_before: sessions_begun,
      sessions_ended_except: except,
    },
    when: { ...whileExisting, sessions_ended_before: { isNotFrom: sessions_begun + 1 } },
  });
  if (done) logEvent('sessions_ended', { login_user_id: loginUserId, by });
}

/**
 * Ends the sessions that began in a session of a provider, until a time in epoch seconds.
 * @param loginUserId undefined for anybody's sessions, found by an index that lags behind the table
 * @returns the id of the person; undefined when no session that began there is stored
 */
export async function endSessionsAtProvider(
  loginAppId: string,
  loginUserId: string | undefined,
  providerSession: string,
  time: number,
): Promise<string | undefined> {
  const all = await (loginUserId
    ? readSessions(loginUserId)
    : findAtProvider(loginAppId, providerSession));
  const found = all.filter(({ provider_session }) => provider_session === providerSession);
  const ending = found.filter((session) => isOpen(session) && session.started_at <= time);
  await forEachInBatches(ending, ({ login_user_id, session_id }) =>
    endSession(login_user_id, session_id, 'provider'),
  );
  return found[0]?.login_user_id;
}

async function findAtProvider(loginAppId: string, providerSession: string): Promise<Session[]> {
  const list = sessionsOfProviderSessionList(loginAppId, providerSession);
  return (await Array.fromAsync(readMemberPages(list))).flat().map(sessionItem.parse);
}

/**
 * Ends the sessions that began until a time in epoch seconds, and all relations of devices but
 * those of later sessions.
 * @param identity of the person, if only what began with it ends. Sessions of 1.0.0 and those that
 *   are no longer stored don't say with which they began: they count if the identity was the
 *   person's then
 */
export async function endSessionsBegunBy(
  loginUserId: string,
  time: number,
  identity?: UserIdentity,
): Promise<void> {
  const { person, sessions } = await readPersonWithSessions(loginUserId);
  const isOf = (identityId: string | undefined, begunAt: string): boolean => {
    if (!identity) return true;
    return identityId === undefined
      ? begunAt >= identity.linked_at
      : identityId === identity.identity_id;
  };
  const isEnding = ({ started_at, identity_id, created_at }: Session): boolean =>
    started_at <= time && isOf(identity_id, created_at);
  const open = sessions.filter(isOpen);
  const ending = open.filter(isEnding);
  if (!identity && ending.length > 0 && ending.length === open.length)
    return endSessions(loginUserId, person, 'provider');
  await forEachInBatches(ending, ({ session_id }) =>
    endSession(loginUserId, session_id, 'provider'),
  );
  await endRelationsWhere(loginUserId, ({ related_session_id: id, related_at = '' }) => {
    if (id === undefined) return false;
    const stored = sessions.find(({ session_id }) => session_id === id);
    return stored ? isEnding(stored) : isOf(undefined, related_at);
  });
}
