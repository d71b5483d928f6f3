import { endRelationsWhere } from '../../devices/relate-device.ts';
import { epochSeconds, timestamp } from '../../foundation/clock.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import type { LogEvents } from '../../log/events.ts';
import { logEvent } from '../../log/log.ts';
import { findStatus } from '../../login-apps/status.ts';
import { updateItem } from '../../storage/items.ts';
import { readLoginUserWithSession } from './login-user-with-session.ts';
import { isActive, type Session, sessionItem } from './session.ts';

/** Seconds for which an ended session stays in the table: longer than a device that is not seen stays active. */
const markSeconds = 365 * 86_400;

/**
 * Ends a session: its tokens are no longer valid, and the devices that it related have no owner, so the next user of
 * the phone gets no message for this person. After a failure it can be repeated and finishes the work.
 * @param by who ended it: whoever reused a refresh token, a client that revoked one, and so on
 * @param reason what subscribers are told, if it is not `ended`
 */
export async function endSession(
  loginUserId: string,
  sessionId: string,
  by: LogEvents['session_ended']['by'],
  reason?: Session['end_reason'],
): Promise<void> {
  const { done } = await updateItem(sessionItem(loginUserId, sessionId), {
    set: {
      ended_at: timestamp(),
      expires_at: epochSeconds() + markSeconds,
      ...(reason && { end_reason: reason }),
    },
    when: { session_id: { is: sessionId }, ended_at: { exists: false } },
  });
  if (done) logEvent('session_ended', { login_user_id: loginUserId, session_id: sessionId, by });
  await endRelationsWhere(loginUserId, ({ related_session_id }) => related_session_id === sessionId);
}

/** Ends a session that a person names. @throws ServiceError `not_found` when it is not theirs, or is over */
export async function endOwnSession(loginUserId: string, loginAppId: string, sessionId: string) {
  const [{ session }, status] = await Promise.all([
    readLoginUserWithSession(loginUserId, sessionId),
    findStatus(loginAppId),
  ]);
  if (!session || !isActive(session, status))
    throw new ServiceError('not_found', 'The Login User has no such session, or it is over.');
  await endSession(loginUserId, sessionId, 'person');
}
