import { inTurns } from '../storage/in-turns.ts';
import { endSession, type SessionEnder } from './end-session.ts';
import { isOpen, readSessions, type Session } from './session.ts';

/**
 * Ends all sessions of a Login User that have not ended. Returns how many there were.
 * @param last a session that ends after all others, so that its tokens can repeat what was interrupted
 */
export async function endSessions(loginUserId: string, by: SessionEnder, last?: string): Promise<number> {
  const open = (await readSessions(loginUserId)).filter(isOpen);
  await endEach(
    open.filter(({ session_id }) => session_id !== last),
    by,
  );
  await endEach(
    open.filter(({ session_id }) => session_id === last),
    by,
  );
  return open.length;
}

/** Ends all sessions of a Login User that have not ended, except one. */
export async function endOtherSessions(loginUserId: string, sessionId: string): Promise<void> {
  const open = (await readSessions(loginUserId)).filter(isOpen);
  await endEach(
    open.filter(({ session_id }) => session_id !== sessionId),
    'person',
  );
}

/** Ends the sessions of a Login User that had begun by a time, in epoch seconds. */
export async function endSessionsBegunBy(loginUserId: string, time: number, by: SessionEnder): Promise<void> {
  const open = (await readSessions(loginUserId)).filter(isOpen);
  await endEach(
    open.filter(({ started_at }) => started_at <= time),
    by,
  );
}

const endEach = (sessions: Session[], by: SessionEnder): Promise<void> =>
  inTurns(sessions, ({ login_user_id, session_id }) => endSession(login_user_id, session_id, by));
