import { setTimeout as wait } from 'node:timers/promises';
import { timestamp } from '../clock.ts';
import { putNewItem } from '../storage/items.ts';
import { eventKey, ordinalIn } from '../storage/keys.ts';
import { type DenseList, readLastOrdinal, sortKeyOf } from '../storage/lists.ts';
import type { AccessRequestEvent } from './event.ts';
import { allEvents, listsOf } from './event-lists.ts';
import type { NewEvent } from './new-event.ts';

/** Milliseconds, at most, before the first repetition; doubled with each one up to the longest. */
const firstPause = 10;
const longestPause = 500;

/**
 * Adds an event to an access request: one put, if its id is still free. The last id is read before the last
 * ordinals of its lists: whoever writes after that takes the id, so a put that succeeds proves them right.
 */
export async function addEvent(accessRequestId: number, newEvent: NewEvent): Promise<AccessRequestEvent> {
  for (let attempt = 0; ; attempt += 1) {
    const id = (await readLastOrdinal(allEvents(accessRequestId))) + 1;
    const ordinals = await Promise.all(listsOf(accessRequestId, newEvent).map(nextOrdinal));
    const now = timestamp();
    const event = { ...newEvent, id, access_request_id: accessRequestId, created_at: now, updated_at: now };
    const outcome = await putNewItem({
      ...eventKey(accessRequestId, id),
      ...event,
      ...Object.fromEntries(ordinals),
    });
    if (outcome === 'put') return event;
    await wait(Math.random() * Math.min(longestPause, firstPause * 2 ** attempt));
  }
}

/** The sort key of a list's index, and its value for the list's next member. */
async function nextOrdinal(list: DenseList): Promise<[string, string]> {
  return [sortKeyOf(list.index), ordinalIn(list.name, (await readLastOrdinal(list)) + 1)];
}
