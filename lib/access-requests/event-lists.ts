import { definedOnly } from '../foundation/defined-only.ts';
import { type ItemKey, itemKind, readItems } from '../storage/items.ts';
import {
  accessRequestPartition,
  actorIdList,
  actorList,
  actorTypeList,
  eventKey,
  eventList,
  listNameOf,
  ordinalOf,
  reviewList,
} from '../storage/keys.ts';
import { type DenseList, readLastOrdinal, readRange } from '../storage/lists.ts';
import { type LocalIndex, table } from '../storage/table.ts';
import { type AccessRequestEvent, eventSchema, type Writer } from './event.ts';
import type { NewEvent } from './new-event.ts';

/** An event as it is stored, with its writer. */
export const eventItem: (
  accessRequestId: number,
  id: number,
) => ItemKey<AccessRequestEvent, AccessRequestEvent & Writer> = itemKind(eventSchema, eventKey);

const listIn = (accessRequestId: number, name: string, index?: LocalIndex): DenseList =>
  definedOnly({ pk: accessRequestPartition(accessRequestId), index, name });

/** Every event of an access request. */
export const allEvents = (accessRequestId: number) => listIn(accessRequestId, eventList);
export const eventsOfActorType = (accessRequestId: number, actorType: string) =>
  listIn(accessRequestId, actorTypeList(actorType), 'by_actor_type');
export const eventsOfActorId = (accessRequestId: number, actorId: string) =>
  listIn(accessRequestId, actorIdList(actorId), 'by_actor_id');
export const eventsOfActor = (accessRequestId: number, actorType: string, actorId: string) =>
  listIn(accessRequestId, actorList(actorType, actorId), 'by_actor');
export const allReviews = (accessRequestId: number) => listIn(accessRequestId, reviewList, 'by_review');

/** The lists that an event is in, apart from the list of all events. */
export const listsOf = (
  accessRequestId: number,
  { type, actor_type, actor_id }: Pick<AccessRequestEvent, 'type' | 'actor_type' | 'actor_id'>,
): DenseList[] => [
  eventsOfActorType(accessRequestId, actor_type),
  eventsOfActorId(accessRequestId, actor_id),
  eventsOfActor(accessRequestId, actor_type, actor_id),
  ...(type === 'review' ? [allReviews(accessRequestId)] : []),
];

/** The ends of an access request's lists, as far as the next events need them. */
export interface ListTails {
  lastId: number;
  /** The last ordinal of each list, by `nameOf`. */
  lastOrdinals: Map<string, number>;
  /** The last event that was written under each idempotency key of the next events; undefined where there is none. */
  written: Map<string, AccessRequestEvent | undefined>;
}

/** Identifies a list among those of one access request. */
export const nameOf = ({ index, name }: { index?: string; name: string }): string => `${index} ${name}`;

const indexes = Object.entries(table.localIndexes);
/** Attributes that are read of the events that others have written meanwhile: their ids and their places in the lists. */
const places = ['id', ...indexes.map(([, { sortKey }]) => sortKey)];

/**
 * Reads the ends of the lists that these events join. The last id is read first: any later writer takes the next
 * id, so a put that succeeds under it proves that the other ends were right.
 */
export async function readListTails(
  accessRequestId: number,
  drafts: { event: NewEvent; idempotencyKey?: string | undefined }[],
): Promise<ListTails> {
  const pk = accessRequestPartition(accessRequestId);
  const lists = drafts.flatMap((draft) => listsOf(accessRequestId, draft.event));
  const keys = drafts.map(({ idempotencyKey }) => idempotencyKey).filter((key) => key !== undefined);
  const lastId = await readLastOrdinal(allEvents(accessRequestId));
  const [lastOrdinals, idsByKey] = await Promise.all([
    readLastOrdinals(new Map(lists.map((list) => [nameOf(list), list]))),
    readLastOrdinals(new Map(keys.map((name) => [name, { pk, index: 'by_idempotency_key', name }]))),
  ]);
  const written: ListTails['written'] = new Map(keys.map((key) => [key, undefined]));
  const ids = [...idsByKey].filter(([, id]) => id > 0);
  for (const [key, event] of await readEvents(accessRequestId, new Map(ids))) written.set(key, event);
  return { lastId, lastOrdinals, written };
}

/**
 * Takes in the events that others have written since; each carries its ordinals and its key. Their texts are not read,
 * since they may be long and a busy access request is read again and again. Stops at a gap: the missing event was
 * written during the read, and the next put will meet it.
 */
export async function compactIndexes(accessRequestId: number, end: ListTails): Promise<void> {
  const items = await readRange(allEvents(accessRequestId), end.lastId + 1, Number.MAX_SAFE_INTEGER, places);
  const repeated = new Map<string, number>();
  for (const item of items) {
    if (item.id !== end.lastId + 1) break;
    end.lastId += 1;
    for (const [index, { sortKey }] of indexes) {
      const place = item[sortKey];
      if (typeof place !== 'string') continue;
      const name = listNameOf(place);
      if (index !== 'by_idempotency_key') end.lastOrdinals.set(nameOf({ index, name }), ordinalOf(place));
      else if (end.written.has(name)) repeated.set(name, end.lastId);
    }
  }
  for (const [key, found] of await readEvents(accessRequestId, repeated)) end.written.set(key, found);
}

async function readLastOrdinals(lists: Map<string, DenseList>): Promise<Map<string, number>> {
  const ends = [...lists].map(async ([name, list]) => [name, await readLastOrdinal(list)] as const);
  return new Map(await Promise.all(ends));
}

async function readEvents(accessRequestId: number, ids: Map<string, number>) {
  const keys = [...ids.keys()];
  const events = await readItems([...ids.values()].map((id) => eventItem(accessRequestId, id)));
  return new Map(keys.map((key, place) => [key, events[place]]));
}
