import { endRelationsOfSession } from '../devices/end-relation.ts';
import { logEvent } from '../log.ts';
import { deleteItem } from '../storage/items.ts';
import { sessionKey } from '../storage/keys.ts';

/**
 * Ends a session: no token of it counts from now on, and the devices that it related are nobody's, so that
 * whoever uses the phone next gets nothing of this person. Repeated after a failure, it does what was left.
 */
export async function endSession(
  loginUserId: string,
  sessionId: string,
  by: 'reuse' | 'client' | 'operator',
): Promise<void> {
  const ended = await deleteItem(sessionKey(loginUserId, sessionId));
  if (ended) logEvent('session_ended', { login_user_id: loginUserId, session_id: sessionId, by });
  await endRelationsOfSession(loginUserId, sessionId);
}
