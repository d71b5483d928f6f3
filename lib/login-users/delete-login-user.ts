import { endAllRelations } from '../devices/end-relation.ts';
import { inTurns } from '../in-turns.ts';
import { isOpen, readSessions, removeSession } from '../sessions/session.ts';
import { deleteItem } from '../storage/items.ts';
import { loginUserKey } from '../storage/keys.ts';
import { setBlocked } from './login-user.ts';

/** What a deletion removed. */
export interface Deletion {
  sessions: number;
  activeSessions: number;
  relations: number;
}

/**
 * Deletes a Login User. Blocks them first, so that they don't log in while the rest is deleted. A device that the index
 * does not show yet is not theirs either: a relation ends with its Login User. After an interruption it can be repeated
 * and deletes what is left.
 * @returns undefined when there was nothing to delete
 */
export async function deleteLoginUser(loginUserId: string): Promise<Deletion | undefined> {
  const exists = await setBlocked(loginUserId, true);
  const sessions = await readSessions(loginUserId);
  await inTurns(sessions, ({ session_id }) => removeSession(loginUserId, session_id));
  const relations = await endAllRelations(loginUserId);
  if (!exists && sessions.length === 0 && relations === 0) return undefined;
  await deleteItem(loginUserKey(loginUserId));
  return { sessions: sessions.length, activeSessions: sessions.filter(isOpen).length, relations };
}
