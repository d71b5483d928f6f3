import { inTurns } from '../storage/in-turns.ts';
import { endSession, type SessionEnder } from './end-session.ts';
import { isOpen, readSessions } from './session.ts';

/** Choice of the open sessions that end, and of their order: all of them at once, unless told. */
interface EndedSessions {
  /** The id of a session that goes on. */
  except?: string;
  /** The id of a session that ends after all others, so that its tokens can repeat what was interrupted. */
  last?: string;
  /** Epoch seconds: sessions that began later go on. */
  begunBy?: number;
}

/** Ends the open sessions of a Login User. Returns how many there were. */
export async function endSessions(
  loginUserId: string,
  by: SessionEnder,
  { except, last, begunBy = Infinity }: EndedSessions = {},
): Promise<number> {
  const ending = (await readSessions(loginUserId)).filter(
    (session) => isOpen(session) && session.session_id !== except && session.started_at <= begunBy,
  );
  for (const isLast of [false, true])
    await inTurns(
      ending.filter(({ session_id }) => (session_id === last) === isLast),
      ({ session_id }) => endSession(loginUserId, session_id, by),
    );
  return ending.length;
}
