import * as v from 'valibot';
import type { Item } from '../storage/items.ts';
import { readRange } from '../storage/lists.ts';
import { eventSchema } from './event.ts';
import { allEvents } from './event-lists.ts';
import { largestPage } from './search-request.ts';

/** Absent from what was written before writers were stored. */
const writerSchema = v.object({ account_id: v.optional(v.string()), operator: v.optional(v.string()) });

/** The first 100 events after an id, in ascending order, each with who wrote it; and where the next ones begin. */
export const listEvents = (accessRequestId: number, after: number) =>
  readPage(accessRequestId, after, (item) => ({
    ...v.parse(eventSchema, item),
    written_by: v.parse(writerSchema, item),
  }));

/** Events of an access request with just the fields that an import reads. */
export const exportEvents = (accessRequestId: number, after: number) =>
  readPage(accessRequestId, after, (item) => v.parse(eventSchema, item));

async function readPage<Event>(accessRequestId: number, after: number, toEvent: (item: Item) => Event) {
  const items = await readRange(allEvents(accessRequestId), after + 1, after + largestPage);
  const events = items.map(toEvent);
  return { events, ...(events.length === largestPage && { next: after + largestPage }) };
}
