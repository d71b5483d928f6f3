import * as v from 'valibot';
import { epochSeconds, timestamp } from '../clock.ts';
import { environmentSeconds } from '../environment.ts';
import { newId } from '../secrets.ts';
import { deleteItem, putItem } from '../storage/items.ts';
import { sessionKey } from '../storage/keys.ts';

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
    expires_at: now + Math.min(idleLifetime(), absoluteLifetime()),
    created_at: timestamp(),
  };
}

export const putSession = (session: Session): Promise<void> =>
  putItem({ ...sessionKey(session.login_user_id, session.session_id), ...session });

/** Ends a session: no token of it counts from now on. False when it had ended before. */
export const endSession = (loginUserId: string, sessionId: string): Promise<boolean> =>
  deleteItem(sessionKey(loginUserId, sessionId));

/** Whether a session goes on. The table deletes ended ones late, so the time is looked at too. */
export const isActive = ({ expires_at }: Session): boolean => expires_at > epochSeconds();
