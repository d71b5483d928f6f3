import * as v from 'valibot';
import type { Item } from '../storage/items.ts';
import { sessionIdInSlot } from './session-ids.ts';

/** The attributes of a Login User that count their sessions, and say which ones ended together. */
export const sessionsOfPerson = {
  /** The number of logins; the ordinals of their sessions begin with 0. */
  sessions_begun: v.optional(v.number()),
  session_places: v.optional(v.number()),
  /** The session of the latest login, without its place. */
  last_session_id: v.optional(v.string()),
  /** When all sessions ended, or all but one. */
  sessions_ended_at: v.optional(v.string()),
  /** `sessions_begun` at that time. */
  sessions_ended_before: v.optional(v.number()),
  /** The one that went on. */
  sessions_ended_except: v.optional(v.string()),
};
const countersItem = v.object(sessionsOfPerson);
type Counters = v.InferOutput<typeof countersItem>;

export const countersIn = (person: Item | undefined): Counters =>
  v.parse(countersItem, person ?? {});

export function lastSessionIdOf(counters: Counters): string | undefined {
  const { sessions_begun, session_places, last_session_id } = counters;
  if (last_session_id === undefined || sessions_begun === undefined || session_places === undefined)
    return undefined;
  return sessionIdInSlot(last_session_id, (sessions_begun - 1) % session_places);
}

/** The attributes of a session that decide whether it ended together with others. */
export const begunItem = v.object({
  session_id: v.string(),
  /** Epoch seconds. */
  started_at: v.number(),
  /** The number of logins before it. */
  ordinal: v.number(),
});

/** The time at which a session ended together with others; undefined if it did not. */
export function endWithOthers(person: Item | undefined, session: v.InferOutput<typeof begunItem>) {
  const {
    sessions_ended_at,
    sessions_ended_before = 0,
    sessions_ended_except,
  } = countersIn(person);
  const hasEnded =
    session.session_id !== sessions_ended_except && session.ordinal < sessions_ended_before;
  return hasEnded ? sessions_ended_at : undefined;
}

/**
 * Whether a device's relation still counts. It ends with the session that made it, or when another
 * one takes its place. After the session has expired, it ends with all sessions.
 * @param stored the item at the session's place
 */
export function sessionAllows(
  person: Item | undefined,
  stored: Item | undefined,
  { sessionId, relatedAt }: { sessionId: string; relatedAt: string },
): boolean {
  if (!stored) {
    const { sessions_ended_at = '', sessions_ended_except } = countersIn(person);
    return sessionId === sessions_ended_except || relatedAt > sessions_ended_at;
  }
  if (stored.session_id !== sessionId || stored.ended_at !== undefined) return false;
  return endWithOthers(person, v.parse(begunItem, stored)) === undefined;
}
