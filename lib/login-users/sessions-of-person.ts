import * as v from 'valibot';
import type { Item } from '../storage/items.ts';
import { sessionIdInSlot } from './session-ids.ts';

/** The attributes of a Login User that count their sessions, and say which ones ended together. */
export const sessionsOfPerson = {
  /** The number of logins; the ordinals of their sessions begin with 0. */
  sessions_begun: v.optional(v.number()),
  /** The number of slots in the ring of the person's sessions, at the latest login. */
  session_places: v.optional(v.number()),
  /** The id of the latest login's session, without the digits of its slot. */
  last_session_id: v.optional(v.string()),
  /** When all sessions ended, or all but one. */
  sessions_ended_at: v.optional(v.string()),
  /** The value of `sessions_begun` at that time. */
  sessions_ended_before: v.optional(v.number()),
  /** The id of the session that went on. */
  sessions_ended_except: v.optional(v.string()),
};
const countersItem = v.object(sessionsOfPerson);
type Counters = v.InferOutput<typeof countersItem>;

/** The counters of an item; empty for a person who has none. */
export const countersIn = (person: Item | undefined): Counters =>
  v.parse(countersItem, person ?? {});

/** The id of the latest login's session; undefined before the first login. */
export function lastSessionIdOf(counters: Counters): string | undefined {
  const { sessions_begun, session_places, last_session_id } = counters;
  if (last_session_id === undefined) return undefined;
  if (sessions_begun === undefined || session_places === undefined) return undefined;
  const ordinal = sessions_begun - 1;
  return sessionIdInSlot(last_session_id, ordinal % session_places);
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
  const counters = countersIn(person);
  const { sessions_ended_at, sessions_ended_before = 0 } = counters;
  if (session.session_id === counters.sessions_ended_except) return undefined;
  return session.ordinal < sessions_ended_before ? sessions_ended_at : undefined;
}

/**
 * Whether a device is still linked to a person by the session that linked it. The link ends with
 * this session, or when a later session gets its slot. After the session has expired, the link
 * ends with all sessions.
 * @param stored the item in the session's slot
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
