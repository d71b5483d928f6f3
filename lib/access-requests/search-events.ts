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
    offset: described(countField, 'The number of them before this page.'),
    count: described(countField, 'How many are on this page.'),
    results: v.array(eventSchema),
  }),
  v.title('EventsPage'),
);

/**
 * Searches the events of an access request in the order of their ids. Nothing of them is read
 * before the account's access is known, so neither time nor cost tells others what there is. Any
 * page costs three requests, since there is a list for almost every filter. Only reviews by an
 * actor have none: they cost as much as all reviews or, with both parts of the actor, as the
 * actor's events if these are fewer.
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

/** A page of the events that were found, and how many there are on all pages. */
interface FoundPage {
  total: number;
  items: Item[];
}

async function findPage(search: SearchRequest, offset: number): Promise<FoundPage> {
  const { page_size, order } = search;
  const isDescending = order === 'desc';
  const list = listOf(search);
  if (list && isDescending) return readNewest(list, offset, page_size);
  if (list) return readOldest(list, offset, page_size);
  const ascending = await readMatching(search);
  const found = isDescending ? ascending.toReversed() : ascending;
  return { total: found.length, items: found.slice(offset, offset + page_size) };
}

async function readOldest(list: NumberedList, offset: number, size: number): Promise<FoundPage> {
  const [last, items] = await Promise.all([
    readLastOrdinal(list),
    readRange(list, offset + 1, offset + size),
  ]);
  const end = offset + items.length;
  // Another event may have been added between the two reads. A full page may show it.
  const isFull = items.length === size;
  if (isFull) return { total: Math.max(last, end), items };
  // Any other page ends where the list ends, so its own end is the total.
  if (items.length > 0) return { total: end, items };
  // The page begins behind the end of the list.
  return { total: Math.min(last, end), items };
}

async function readNewest(list: NumberedList, offset: number, size: number): Promise<FoundPage> {
  const total = await readLastOrdinal(list);
  const last = total - offset;
  if (last < 1) return { total, items: [] };
  const first = Math.max(last - size + 1, 1);
  const items = await readRange(list, first, last);
  return { total, items: items.toReversed() };
}

/** The list of exactly the events that a search wants; undefined if there is no such list. */
function listOf(search: SearchRequest): NumberedList | undefined {
  const { access_request_id, type, ids, actor_type, actor_id } = search;
  if (ids) return undefined;
  const lists = eventLists(access_request_id);
  const isForReviews = type === 'review';
  const isForActor = actor_type !== undefined || actor_id !== undefined;
  if (!isForActor) return isForReviews ? lists.reviews : lists.all;
  if (isForReviews) return undefined;
  if (actor_id === undefined) return lists.ofActorType(actor_type ?? '');
  if (actor_type === undefined) return lists.ofActorId(actor_id);
  return lists.ofActor(actor_type, actor_id);
}

/** The events that meet all filters of a search for which there is no list. */
async function readMatching(search: SearchRequest): Promise<Item[]> {
  const { type, actor_type, actor_id } = search;
  const items = await readCandidates(search);
  return items
    .filter((item) => type === undefined || item.type === type)
    .filter((item) => actor_type === undefined || item.actor_type === actor_type)
    .filter((item) => actor_id === undefined || item.actor_id === actor_id);
}

async function readCandidates(search: SearchRequest): Promise<Item[]> {
  const { access_request_id, ids } = search;
  if (!ids) return readReviewsOrEventsOfActor(search);
  const ascending = [...new Set(ids)].sort((a, b) => a - b);
  const items = await readAll(ascending.map((id) => eventKey(access_request_id, id)));
  return items.filter((item) => item !== undefined);
}

/** How many events of an actor are read before they are compared with the number of reviews. */
const fewEvents = 25;

/**
 * All reviews or, if the search names both parts of an actor and these are fewer, all events of the
 * actor.
 */
async function readReviewsOrEventsOfActor(search: SearchRequest): Promise<Item[]> {
  const { access_request_id, actor_type, actor_id } = search;
  const { reviews, ofActor } = eventLists(access_request_id);
  if (actor_type === undefined || actor_id === undefined) return readRange(reviews);
  const eventsOfActor = ofActor(actor_type, actor_id);
  const first = await readRange(eventsOfActor, 1, fewEvents);
  if (first.length < fewEvents) return first;
  const [eventCount, reviewCount] = await Promise.all([
    readLastOrdinal(eventsOfActor),
    readLastOrdinal(reviews),
  ]);
  if (reviewCount < eventCount) return readRange(reviews);
  const further = await readRange(eventsOfActor, fewEvents + 1);
  return [...first, ...further];
}

/** Older events have no writer. */
const writerSchema = v.object({
  account_id: v.optional(v.string()),
  operator: v.optional(v.string()),
});

/**
 * The first 100 events after an id, each with its writer.
 * @returns also the id after which the next ones begin; undefined at the end
 */
export async function listEvents(accessRequestId: number, after: number) {
  const last = after + largestPage;
  const items = await readRange(eventLists(accessRequestId).all, after + 1, last);
  const events = items.map((item) => ({
    ...parseEvent(item),
    written_by: v.parse(writerSchema, item),
  }));
  const isFull = events.length === largestPage;
  return { events, next: isFull ? last : undefined };
}
