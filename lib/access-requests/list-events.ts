import * as v from 'valibot';
import type { Item } from '../storage/items.ts';
import { readRange } from '../storage/lists.ts';
import { event } from './event.ts';
import { allEvents } from './event-lists.ts';
import { largestPage } from './search-request.ts';

/** Absent from what was written before writers were stored. */
const writer = v.object({ account_id: v.optional(v.string()), operator: v.optional(v.string()) });

/**
 * The events that come after an id, as many as fit into what a function may return, each with who wrote it. `next` is the
 * id that the next page comes after.
 */
export async function listEvents(accessRequestId: number, after: number) {
  const items = await readRange(allEvents(accessRequestId), after + 1, after + largestPage);
  const events = items.map(shown);
  return { events, ...(events.length === largestPage && { next: after + largestPage }) };
}

const shown = (item: Item) => ({ ...v.parse(event, item), written_by: v.parse(writer, item) });
