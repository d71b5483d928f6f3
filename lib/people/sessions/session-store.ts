import { epochSeconds, timestamp } from '../../foundation/clock.ts';
import { environmentNumber, environmentSeconds } from '../../foundation/environment.ts';
import { sessionIdAt } from '../../foundation/ids.ts';
import { putItem, updateItem } from '../../storage/items.ts';
import { sessionKey } from '../../storage/keys.ts';
import { removeSession, type Session, sessionIn } from './session.ts';

/** Seconds after which a session that is not refreshed ends. */
const idleLifetime = environmentSeconds('SESSION_IDLE_SECONDS');
/** Seconds after which every session ends. */
const absoluteLifetime = environmentSeconds('SESSION_ABSOLUTE_SECONDS');

/** How many sessions of a person can be open: the next login takes the place of the oldest. */
export const sessionPlaces = environmentNumber('MAX_SESSIONS');

/** A session that starts now. It is not stored yet. @param stem the random part of its id */
export function newSession(
  stem: string,
  of: Pick<Session, 'login_user_id' | 'login_app_id' | 'client_id'> & { ordinal: number },
): Session {
  const now = epochSeconds();
  return {
    ...of,
    session_id: sessionIdAt(stem, of.ordinal % sessionPlaces()),
    generation: 0,
    started_at: now,
    expires_at: endOf(now),
    created_at: timestamp(),
  };
}

/** Stores a new session at its place. After a failure nobody gets its tokens, so it is removed, if it can be. */
export async function putSession(session: Session): Promise<void> {
  const { login_user_id, session_id } = session;
  try {
    await putItem<Session>({ ...sessionKey(login_user_id, session_id), ...session });
  } catch (error) {
    await removeSession(login_user_id, session_id).catch(() => undefined);
    throw error;
  }
}

/**
 * Moves a session to its next generation: one conditional write. Of several at once, one succeeds. A session that has
 * ended or moved meanwhile is left as it is and returned.
 */
export async function rotateRefreshToken(
  current: Session,
): Promise<{ moved: boolean; session: Session | undefined }> {
  const change = {
    generation: current.generation + 1,
    refreshed_at: epochSeconds(),
    expires_at: endOf(current.started_at),
  };
  const update = await updateItem<Session>(sessionKey(current.login_user_id, current.session_id), {
    set: change,
    when: {
      session_id: { is: current.session_id },
      generation: { is: current.generation },
      ended_at: { exists: false },
    },
  });
  if (update.done) return { moved: true, session: { ...current, ...change } };
  return { moved: false, session: sessionIn(update.found, current.session_id) };
}

/** The idle or the absolute end of a session that is used now, whichever comes first, in epoch seconds. */
const endOf = (startedAt: number): number =>
  Math.min(epochSeconds() + idleLifetime(), startedAt + absoluteLifetime());
