import * as v from 'valibot';
import { epochSeconds, timestamp } from '../clock.ts';
import { environmentSeconds } from '../environment.ts';
import { newId } from '../ids.ts';
import { putItem, updateItem } from '../storage/items.ts';
import { sessionKey } from '../storage/keys.ts';
import { type Session, sessionItem } from './session.ts';

/** Seconds after which a session that is not refreshed ends. */
const idleLifetime = environmentSeconds('SESSION_IDLE_SECONDS');
/** Seconds after which every session ends. */
const absoluteLifetime = environmentSeconds('SESSION_ABSOLUTE_SECONDS');

/** A session that starts now. It is not stored yet. */
export function newSession(of: Pick<Session, 'login_user_id' | 'login_app_id' | 'client_id'>): Session {
  const now = epochSeconds();
  return {
    ...of,
    session_id: newId('s'),
    generation: 0,
    started_at: now,
    expires_at: endOf(now),
    created_at: timestamp(),
  };
}

export const putSession = (session: Session): Promise<void> =>
  putItem<Session>({ ...sessionKey(session.login_user_id, session.session_id), ...session });

/**
 * Moves a session to its next generation: one conditional write. Of several at once, one succeeds. A session that has
 * ended or moved meanwhile is left as it is and returned.
 */
export async function moveOn(current: Session): Promise<{ moved: boolean; session: Session | undefined }> {
  const change = {
    generation: current.generation + 1,
    refreshed_at: epochSeconds(),
    expires_at: endOf(current.started_at),
  };
  const update = await updateItem<Session>(sessionKey(current.login_user_id, current.session_id), {
    set: change,
    when: { generation: { is: current.generation }, ended_at: { exists: false } },
  });
  if (update.done) return { moved: true, session: { ...current, ...change } };
  return { moved: false, session: update.found && v.parse(sessionItem, update.found) };
}

/** The idle or the absolute end of a session that is used now, whichever comes first, in epoch seconds. */
const endOf = (startedAt: number): number =>
  Math.min(epochSeconds() + idleLifetime(), startedAt + absoluteLifetime());
