import * as v from 'valibot';
import { readItems } from '../storage/items.ts';
import { sessionKey } from '../storage/keys.ts';
import { session } from './session.ts';

/** Those of some sessions that were ended on purpose, by one request. */
export async function endedAmong(loginUserId: string, sessionIds: string[]): Promise<Set<string>> {
  const keys = [...new Set(sessionIds)].map((id) => sessionKey(loginUserId, id));
  const items = keys.length > 0 ? await readItems(keys) : [];
  const sessions = items.filter((item) => item !== undefined).map((item) => v.parse(session, item));
  return new Set(
    sessions.filter(({ ended_at }) => ended_at !== undefined).map(({ session_id }) => session_id),
  );
}
