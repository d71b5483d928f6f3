import { epochSeconds, timestamp } from '../clock.ts';
import { endRelationsOfSession } from '../devices/end-relation.ts';
import { logEvent } from '../log.ts';
import { updateItem } from '../storage/items.ts';
import { sessionKey } from '../storage/keys.ts';

/** Seconds for which an ended session stays in the table: longer than a device that is not seen stays active. */
const markSeconds = 365 * 86_400;

/**
 * Ends a session: its tokens are no longer valid, and the devices that it related have no owner, so the next user of
 * the phone gets no message for this person. After a failure it can be repeated and finishes the work.
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
