import * as v from 'valibot';
import { epochSeconds, timestamp } from '../clock.ts';
import { endRelationsOfSession } from '../devices/end-relation.ts';
import { environmentSeconds } from '../environment.ts';
import { logEvent } from '../log.ts';
import { newId } from '../secrets.ts';
import { deleteItem, putItem, readItem, updateItem } from '../storage/items.ts';
import { loginUserPartition, sessionKey, sessionPrefix } from '../storage/keys.ts';
import { readPartition } from '../storage/lists.ts';

/** Seconds after which a session that is not refreshed ends. @default 2592000 (30 days) */
const idleLifetime = (): number => environmentSeconds('SESSION_IDLE_SECONDS', 30 * 86_400);
/** Seconds after which every session ends. @default 31536000 (365 days) */
const absoluteLifetime = (): number => environmentSeconds('SESSION_ABSOLUTE_SECONDS', 365 * 86_400);

/** What one login started. */
export const session = v.object({
  session_id: v.string(),
  login_user_id: v.string(),
  login_app_id: v.string(),
  /** The client that logged in. */
  client_id: v.string(),
  /** How often it has been refreshed. */
  generation: v.number(),
  /** Epoch seconds. */
  started_at: v.number(),
  /** Epoch seconds of the last refresh. */
  refreshed_at: v.optional(v.number()),
  /** Epoch seconds: the idle or the absolute end, whichever comes first. */
  expires_at: v.number(),
  created_at: v.string(),
});
export type Session = v.InferOutput<typeof session>;

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
  putItem({ ...sessionKey(session.login_user_id, session.session_id), ...session });

/** A session as it is stored, also one whose time is over. */
export async function readSession(loginUserId: string, sessionId: string): Promise<Session | undefined> {
  const item = await readItem(sessionKey(loginUserId, sessionId));
  return item && v.parse(session, item);
}

/** All sessions of a Login User that go on. */
export async function readSessions(loginUserId: string): Promise<Session[]> {
  const items = await readPartition(loginUserPartition(loginUserId), sessionPrefix);
  return items.map((item) => v.parse(session, item)).filter(isActive);
}

/** Whether a session goes on. The table deletes ended ones late, so the time is looked at too. */
export const isActive = ({ expires_at }: Session): boolean => expires_at > epochSeconds();

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

/** Takes a session back that was never handed out. */
export const takeBackSession = (session: Session): Promise<boolean> =>
  deleteItem(sessionKey(session.login_user_id, session.session_id));

/**
 * Moves a session on to its next generation: one conditional write, which of several at once does. A session
 * that has ended or moved on in between stays as it is, and is returned as it is.
 */
export async function moveOn(current: Session): Promise<{ moved: boolean; session: Session | undefined }> {
  const change = {
    generation: current.generation + 1,
    refreshed_at: epochSeconds(),
    expires_at: endOf(current.started_at),
  };
  const update = await updateItem(sessionKey(current.login_user_id, current.session_id), {
    set: change,
    when: { generation: { is: current.generation } },
  });
  if (update.done) return { moved: true, session: { ...current, ...change } };
  return { moved: false, session: update.found && v.parse(session, update.found) };
}

/** The idle or the absolute end of a session that is used now, whichever comes first, in epoch seconds. */
const endOf = (startedAt: number): number =>
  Math.min(epochSeconds() + idleLifetime(), startedAt + absoluteLifetime());
