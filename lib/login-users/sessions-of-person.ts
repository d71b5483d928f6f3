import * as v from 'valibot';
import { sessionIdAt } from '../foundation/ids.ts';
import type { Item } from '../storage/items.ts';

/** The attributes of a Login User that count their sessions, and say which of these have ended together. */
export const sessionsOfPerson = {
  /** The number of logins so far; the latest has the ordinal before it. */
  sessions_begun: v.optional(v.number()),
  session_places: v.optional(v.number()),
  /** The session that the latest login started, without its place. */
  last_session_id: v.optional(v.string()),
  /** When all sessions ended that had begun, but for one perhaps. */
  sessions_ended_at: v.optional(v.string()),
  /** How many had begun then, and have ended. */
  sessions_ended_before: v.optional(v.number()),
  /** The one that went on. */
  sessions_ended_except: v.optional(v.string()),
};
const countersItem = v.object(sessionsOfPerson);
const countersIn = (person: Item | undefined) => v.parse(countersItem, person ?? {});

export const begunIn = (person: Item | undefined): number => countersIn(person).sessions_begun ?? 0;

export function lastSessionIdOf(person: Item): string | undefined {
  const { sessions_begun, session_places, last_session_id } = countersIn(person);
  if (last_session_id === undefined || sessions_begun === undefined || session_places === undefined)
    return undefined;
  return sessionIdAt(last_session_id, (sessions_begun - 1) % session_places);
}

/** The attributes of a session that decide whether it ended together with others of its person. */
export const begunItem = v.object({
  session_id: v.string(),
  /** Epoch seconds. */
  started_at: v.number(),
  /** The number of logins of the person before it. */
  ordinal: v.number(),
});

/**
 * Attributes of a Login User that say which sessions have ended together. The session that begins keeps them, so that it
 * shows whether the one whose place it takes had ended.
 */
export function endOfOthersIn(person: Item | undefined) {
  const { sessions_ended_at, sessions_ended_before, sessions_ended_except } = countersIn(person);
  return { sessions_ended_at, sessions_ended_before, sessions_ended_except };
}

/** The time at which a session ended together with others of its person; undefined if it did not. */
export function endWithOthers(person: Item | undefined, session: v.InferOutput<typeof begunItem>) {
  const { sessions_ended_at, sessions_ended_before = 0, sessions_ended_except } = countersIn(person);
  const hasEnded = session.session_id !== sessions_ended_except && session.ordinal < sessions_ended_before;
  return hasEnded ? sessions_ended_at : undefined;
}

/**
 * Whether the relation that a session made still counts. It ends with the session, or when another session takes its
 * place. A session that is no longer stored has expired: the relation goes on, unless all sessions have ended since.
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
