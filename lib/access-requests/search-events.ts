import * as v from 'valibot';
import { logEvent } from '../log/log.ts';
import { countField, described } from '../schema/json-schema.ts';
import { type Item, readAll } from '../storage/items.ts';
import { eventKey } from '../storage/keys.ts';
import { type NumberedList, readLastOrdinal, readRange } from '../storage/lists.ts';
import { eventLists } from './access-request.ts';
import { requireAccess } from './accesses.ts';
import { eventSchema, parseEvent } from './event.ts';
import { largestPage, type SearchRequest } from './search-request.ts';

export const searchResultSchema = v.pipe(
  v.object({
    total: described(countField, 'How many events were found, on all pages.'),
    offset: described(countField, 'How many of them stand before this page.'),
    count: described(countField, 'How many are on this page.'),
    results: v.array(eventSchema),
  }),
  v.title('EventsPage'),
);

/**
 * Searches the events of an access request in the order of their ids. Nothing of them is read
 * before the account's access is known: neither time nor cost tells others what there is. Any page
 * costs three requests. Only reviews with an actor filter have no list: they cost what all reviews
 * cost or, with both filters, the actor's events if these are fewer.
 * @throws ServiceError as `requireAccess` does
 */
export async function searchEvents(accountId: string, search: SearchRequest) {
  const { access_request_id, page, page_size } = search;
  await requireAccess(accountId, access_request_id);
  const offset = (page - 1) * page_size;
  const { total, items } = await findPage(search, offset);
  logEvent('events_searched', { access_request_id, count: items.length });
  return { total, offset, count: items.length, results: items.map(parseEvent) };
}

async function findPage(
  search: SearchRequest,
  offset: number,
): Promise<{ total: number; items: Item[] }> {
  const { page_size, order } = search;
  const list = search.ids ? undefined : listOf(search);
  if (list) return (order === 'desc' ? readNewest : readOldest)(list, offset, page_size);
  const ascending = await readMatching(search);
  const found = order === 'desc' ? ascending.toReversed() : ascending;
  return { total: found.length, items: found.slice(offset, offset + page_size) };
}

async function readOldest(list: NumberedList, offset: number, size: number) {
  const [last, items] = await Promise.all([
    readLastOrdinal(list),
    readRange(list, offset + 1, offset + size),
  ]);
  // An event may have come between the two reads: a full page may show it, and any other page shows
  // the end.
  const shown = offset + items.length;
  if (items.length === size) return { total: Math.max(last, shown), items };
  return { total: items.length > 0 ? shown : Math.min(last, shown), items };
}

async function readNewest(list: NumberedList, offset: number, size: number) {
  const total = await readLastOrdinal(list);
  const last = total - offset;
  if (last < 1) return { total, items: [] };
  const items = await readRange(list, Math.max(last - size + 1, 1), last);
  return { total, items: items.toReversed() };
}

function listOf({
  access_request_id,
  type,
  actor_type,
  actor_id,
}: SearchRequest): NumberedList | undefined {
  const { all, reviews, ofActorType, ofActorId, ofActor } = eventLists(access_request_id);
  if (actor_type === undefined && actor_id === undefined) return type === 'review' ? reviews : all;
  if (type === 'review') return undefined;
  if (actor_id === undefined) return ofActorType(actor_type ?? '');
  return actor_type === undefined ? ofActorId(actor_id) : ofActor(actor_type, actor_id);
}

async function readMatching(search: SearchRequest): Promise<Item[]> {
  const { access_request_id, type, ids, actor_type, actor_id } = search;
  const items = ids
    ? await readAll(
        [...new Set(ids)].sort((a, b) => a - b).map((id) => eventKey(access_request_id, id)),
      )
    : await readShorter(search);
  return items
    .filter((item) => item !== undefined)
    .filter((item) => type === undefined || item.type === type)
    .filter((item) => actor_type === undefined || item.actor_type === actor_type)
    .filter((item) => actor_id === undefined || item.actor_id === actor_id);
}

/** How many events of an actor are read before the number of reviews is. */
const fewEvents = 25;

/**
 * All events of the actor or all reviews, whichever are fewer; all reviews without both filters.
 */
async function readShorter({
  access_request_id,
  actor_type,
  actor_id,
}: SearchRequest): Promise<Item[]> {
  const { reviews, ofActor } = eventLists(access_request_id);
  if (actor_type === undefined || actor_id === undefined) return readRange(reviews);
  const events = ofActor(actor_type, actor_id);
  const first = await readRange(events, 1, fewEvents);
  if (first.length < fewEvents) return first;
  const [eventCount, reviewCount] = await Promise.all([
    readLastOrdinal(events),
    readLastOrdinal(reviews),
  ]);
  if (reviewCount < eventCount) return readRange(reviews);
  return [...first, ...(await readRange(events, fewEvents + 1))];
}

/** Older events have no writer. */
const writerSchema = v.object({
  account_id: v.optional(v.string()),
  operator: v.optional(v.string()),
});

/** The first 100 events after an id, each with its writer, and where the next ones begin. */
export async function listEvents(accessRequestId: number, after: number) {
  const items = await readRange(eventLists(accessRequestId).all, after + 1, after + largestPage);
  const events = items.map((item) => ({
    ...parseEvent(item),
    written_by: v.parse(writerSchema, item),
  }));
  return { events, next: events.length === largestPage ? after + largestPage : undefined };
}
