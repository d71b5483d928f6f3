import { epochSeconds, timestamp } from '../../foundation/clock.ts';
import { environmentNumber, environmentSeconds } from '../../foundation/environment.ts';
import { sessionIdAt } from '../../foundation/ids.ts';
import { putItem } from '../../storage/items.ts';
import { removeSession, type Session, sessionItem } from './session.ts';

/** Seconds after which a session that is not refreshed ends. */
const idleLifetime = environmentSeconds('SESSION_IDLE_SECONDS');
/** Seconds after which every session ends. */
const absoluteLifetime = environmentSeconds('SESSION_ABSOLUTE_SECONDS');

/** How many sessions of a person can be open: the next login takes the place of the oldest. */
export const sessionPlaces = environmentNumber('MAX_SESSIONS');

/** A session that starts now. It is not stored yet. @param prefix the random part of its id */
export function newSession(
  prefix: string,
  of: Pick<Session, 'login_user_id' | 'login_app_id' | 'client_id'> & { ordinal: number },
): Session {
  const now = epochSeconds();
  return {
    ...of,
    session_id: sessionIdAt(prefix, of.ordinal % sessionPlaces()),
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
    await putItem(sessionItem(login_user_id, session_id), session);
  } catch (error) {
    await removeSession(login_user_id, session_id).catch(() => undefined);
    throw error;
  }
}

/** The idle or the absolute end of a session that is used now, whichever comes first, in epoch seconds. */
export const endOf = (startedAt: number): number =>
  Math.min(epochSeconds() + idleLifetime(), startedAt + absoluteLifetime());
