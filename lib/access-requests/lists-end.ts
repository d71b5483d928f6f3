import * as v from 'valibot';
import { readItems } from '../storage/items.ts';
import { accessRequestPartition, eventKey, listNameOf, ordinalOf } from '../storage/keys.ts';
import { type DenseList, readLastOrdinal, readRange, sortKeyOf } from '../storage/lists.ts';
import { type AccessRequestEvent, eventSchema } from './event.ts';
import { allEvents, listsOf } from './event-lists.ts';
import type { NewEvent } from './new-event.ts';

/** The ends of an access request's lists, as far as the next events need them. */
export interface ListsEnd {
  lastId: number;
  /** The last ordinal of each list, by `nameOf`. */
  lastOrdinals: Map<string, number>;
  /** The last event that was written under each idempotency key. */
  written: Map<string, AccessRequestEvent>;
}

/** Identifies a list among those of one access request. */
export const nameOf = ({ index, name }: DenseList): string => `${index} ${name}`;

/**
 * Reads the ends of the lists that these events join. The last id is read first: any later writer takes the next
 * id, so a put that succeeds under it proves that the other ends were right.
 */
export async function readListsEnd(
  accessRequestId: number,
  drafts: { event: NewEvent; idempotencyKey?: string | undefined }[],
): Promise<ListsEnd> {
  const lists = drafts.flatMap((draft) => listsOf(accessRequestId, draft.event));
  const keys = drafts.map(({ idempotencyKey }) => idempotencyKey).filter((key) => key !== undefined);
  const lastId = await readLastOrdinal(allEvents(accessRequestId));
  const [lastOrdinals, written] = await Promise.all([
    readLastOrdinals(new Map(lists.map((list) => [nameOf(list), list]))),
    readWritten(accessRequestId, [...new Set(keys)]),
  ]);
  return { lastId, lastOrdinals, written };
}

/**
 * Takes in the events that others have written since; each carries its ordinals and its key. Stops at a gap: the
 * missing event was written during the read, and the next put will meet it.
 */
export async function catchUp(accessRequestId: number, end: ListsEnd): Promise<void> {
  const items = await readRange(allEvents(accessRequestId), end.lastId + 1, Number.MAX_SAFE_INTEGER);
  for (const item of items) {
    const found = v.parse(eventSchema, item);
    if (found.id !== end.lastId + 1) return;
    end.lastId = found.id;
    for (const list of listsOf(accessRequestId, found)) {
      end.lastOrdinals.set(nameOf(list), ordinalOf(String(item[sortKeyOf(list.index)])));
    }
    const key = item[sortKeyOf('by_idempotency_key')];
    if (key !== undefined) end.written.set(listNameOf(String(key)), found);
  }
}

async function readLastOrdinals(lists: Map<string, DenseList>): Promise<Map<string, number>> {
  const ends = [...lists].map(async ([name, list]) => [name, await readLastOrdinal(list)] as const);
  return new Map(await Promise.all(ends));
}

async function readWritten(
  accessRequestId: number,
  keys: string[],
): Promise<Map<string, AccessRequestEvent>> {
  const pk = accessRequestPartition(accessRequestId);
  const eventIds = await Promise.all(
    keys.map((name) => readLastOrdinal({ pk, index: 'by_idempotency_key', name })),
  );
  const known = keys
    .map((key, place) => ({ key, eventId: eventIds[place] ?? 0 }))
    .filter(({ eventId }) => eventId > 0);
  if (known.length === 0) return new Map();
  const items = await readItems(known.map(({ eventId }) => eventKey(accessRequestId, eventId)));
  return new Map(known.map(({ key }, place) => [key, v.parse(eventSchema, items[place])]));
}
