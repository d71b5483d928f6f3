import { epochSeconds, timestamp } from '../clock.ts';
import { endRelationsOfSession } from '../devices/end-relation.ts';
import { logEvent } from '../log.ts';
import { updateItem } from '../storage/items.ts';
import { sessionKey } from '../storage/keys.ts';

/** Seconds for which the mark of an ended session stays: longer than a device counts that is not seen. */
const markSeconds = 365 * 86_400;

/**
 * Ends a session: no token of it counts from now on, and the devices that it related are nobody's, so that
 * whoever uses the phone next gets nothing of this person. Repeated after a failure, it does what was left.
 */
export async function endSession(
  loginUserId: string,
  sessionId: string,
  by: 'reuse' | 'client' | 'operator',
): Promise<void> {
  const { done } = await updateItem(sessionKey(loginUserId, sessionId), {
    set: { ended_at: timestamp(), expires_at: epochSeconds() + markSeconds },
    when: { pk: { exists: true }, ended_at: { exists: false } },
  });
  if (done) logEvent('session_ended', { login_user_id: loginUserId, session_id: sessionId, by });
  await endRelationsOfSession(loginUserId, sessionId);
}
