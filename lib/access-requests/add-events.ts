import { setTimeout as wait } from 'node:timers/promises';
import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { deleteItem, isPartitionFull, putItem, readItems } from '../storage/items.ts';
import { ordinalIn } from '../storage/keys.ts';
import { type DenseList, readLastOrdinal, sortKeyOf } from '../storage/lists.ts';
import {
  type Access,
  type AccessRequest,
  eventItem,
  eventLists,
  listsOf,
  readAccesses,
  readAccessRequest,
  requireAccess,
} from './access-request.ts';
import { mark } from './account-lists.ts';
import { isPending, mayReview, settle } from './decision.ts';
import { type AccessRequestEvent, eventSchema, type Writer } from './event.ts';
import { hashOfKey, keysCountSince, usedForAnother } from './idempotency.ts';
import type { NewEvent } from './new-event.ts';

/** Milliseconds before a repetition, at most. */
const longestPause = 2_000;
/** Milliseconds within which a writer's last attempt must end. The function's timeout is 10 s. */
const patience = 8_000;

export interface Draft {
  event: NewEvent & { counts?: false };
  writer: Writer;
  /** A hash. If an event was written under it, that one is the result. */
  idempotencyKey?: string | undefined;
  /** ISO 8601. An event under the key that is older does not count. */
  keyCountsSince?: string | undefined;
  /** ISO 8601, for events that come with their times. Otherwise: now. */
  created_at?: string | undefined;
  updated_at?: string | undefined;
}

interface Appended {
  event: AccessRequestEvent;
  outcome: 'added' | 'repeated';
}

/**
 * Adds an event for an account. A request that comes again with its `Idempotency-Key` within 24 hours gets the event of the
 * first one, even when both arrive at once.
 * @param append adds the event, by the account's access
 * @throws ServiceError `forbidden` when the account has no access, or there is no such access request,
 *   `unprocessable_entity` when the key came with another event, and as `appendEvents` does
 */
export async function addEventFor(
  accountId: string,
  accessRequestId: number,
  body: NewEvent,
  key: string | undefined,
  append = (access: Access, drafts: Draft[]) => appendEvents(access.access_request_id, drafts),
): Promise<AccessRequestEvent> {
  const access = await requireAccess(accountId, accessRequestId);
  const draft = { event: body, writer: { account_id: accountId } };
  const keyed = key !== undefined && {
    idempotencyKey: hashOfKey(accountId, key),
    keyCountsSince: keysCountSince(),
  };
  const [appended] = await append(access, [{ ...draft, ...keyed }]);
  const stored = new Map(Object.entries({ ...appended?.event }));
  const hasContent = Object.entries(body).every(([field, value]) => stored.get(field) === value);
  if (!appended || !hasContent) throw usedForAnother();
  return appended.event;
}

/** Adds a review for an account, as `addEventFor` does, and settles the decision if there is one. */
export const addReviewFor = (accountId: string, id: number, body: NewEvent, key: string | undefined) =>
  addEventFor(accountId, id, body, key, async ({ is_decided }, drafts) => {
    const request = is_decided ? await readAccessRequest(id) : undefined;
    return request ? addEvents(request, drafts) : appendEvents(id, drafts);
  });

/**
 * Adds events as `appendEvents` does, and settles the decision if they may change it. Before, the access request is marked
 * for every account that has access, so a search knows what a crash in between has left.
 */
export async function addEvents(request: AccessRequest, drafts: Draft[]): Promise<Appended[]> {
  const id = request.access_request_id;
  const told = drafts.map((draft): Draft => {
    const isOwn = draft.event.type === 'review' && !mayReview(request, draft.event);
    return isOwn ? { ...draft, event: { ...draft.event, counts: false } } : draft;
  });
  if (!isPending(request) || drafts.every(({ event }) => event.type === 'comment'))
    return appendEvents(id, told);
  const accesses = await readAccesses(id);
  const marks = await Promise.all(accesses.map(({ account_id }) => mark(id, account_id, 'review')));
  const appended = await appendEvents(id, told);
  if (isPending(await settle(request))) await Promise.all(marks.map((key) => deleteItem(key)));
  return appended;
}

/**
 * Adds events in the given order. Each is one conditional put under the next id. When another writer has taken that id, the
 * ends of the lists are read again, and the put is tried again.
 * @throws ServiceError `conflict` when the access request is full, `temporarily_unavailable` when others are faster for
 *   8 s; the events added so far stay
 */
async function appendEvents(accessRequestId: number, drafts: Draft[]): Promise<Appended[]> {
  const appended: Appended[] = [];
  const giveUpAt = performance.now() + patience;
  for (let attempt = 0; ; attempt += 1) {
    const startedAt = performance.now();
    const missing = drafts.slice(appended.length);
    const end = await readListTails(accessRequestId, missing);
    for (const draft of missing) {
      const result = await append(accessRequestId, end, draft);
      if (!result) break;
      appended.push(result);
    }
    if (appended.length === drafts.length) return appended;
    // Up to four times as long as the attempt took, doubled with each one: a busy table is asked less often.
    const took = performance.now() - startedAt;
    const pause = Math.random() * Math.min(longestPause, took * 2 ** (attempt + 2));
    // Another attempt may take as long as this one, and the client must get its answer before the function's timeout.
    if (performance.now() + pause + took > giveUpAt) {
      const message = 'Too many are writing to this access request at once; send the request again.';
      throw new ServiceError('temporarily_unavailable', message);
    }
    await wait(pause);
  }
}

/** Adds an event under the next id; undefined when another writer has taken it. */
async function append(accessRequestId: number, end: ListTails, draft: Draft): Promise<Appended | undefined> {
  const { idempotencyKey: key, keyCountsSince = '' } = draft;
  const written = key === undefined ? undefined : end.written.get(key);
  if (written && written.created_at >= keyCountsSince) return { event: written, outcome: 'repeated' };

  const id = end.lastId + 1;
  const { created_at = timestamp(), updated_at = created_at } = draft;
  const identity = { id, access_request_id: accessRequestId };
  const event = v.parse(eventSchema, { ...draft.event, ...identity, created_at, updated_at });
  const places = listsOf(accessRequestId, event).map((list) => ({
    list,
    ordinal: (end.lastOrdinals.get(nameOf(list)) ?? 0) + 1,
  }));
  const placement = Object.fromEntries(
    places.map(({ list, ordinal }) => [sortKeyOf(list.index), ordinalIn(list.name, ordinal)]),
  );
  const idempotency_key = key === undefined ? undefined : ordinalIn(key, id);
  const item = { ...event, ...draft.writer, ...placement, idempotency_key };
  try {
    if (!(await putItem(eventItem(accessRequestId, id), item, { ifAbsent: true }))) return undefined;
  } catch (error) {
    if (!isPartitionFull(error)) throw error;
    const message = 'The access request is full: it takes no more events. Create another one to go on.';
    throw new ServiceError('conflict', message, 'access_request_full');
  }
  end.lastId = id;
  for (const { list, ordinal } of places) end.lastOrdinals.set(nameOf(list), ordinal);
  if (key !== undefined) end.written.set(key, event);
  return { event, outcome: 'added' };
}

const nameOf = ({ index, name }: DenseList) => `${index} ${name}`;

/**
 * Reads the ends of the lists that these events join, and the last event that was written under each of their idempotency
 * keys. The last id is read first: any later writer takes the next id, so a put that succeeds under it proves that the other
 * ends were right.
 */
async function readListTails(accessRequestId: number, drafts: Draft[]) {
  const { all, underKey } = eventLists(accessRequestId);
  const lists = drafts.flatMap((draft) => listsOf(accessRequestId, draft.event));
  const keys = drafts.map(({ idempotencyKey }) => idempotencyKey).filter((key) => key !== undefined);
  const lastId = await readLastOrdinal(all);
  const [lastOrdinals, lastIds] = await Promise.all([
    readLastOrdinals(new Map(lists.map((list) => [nameOf(list), list]))),
    readLastOrdinals(new Map(keys.map((key) => [key, underKey(key)]))),
  ]);
  const used = [...lastIds].filter(([, id]) => id > 0);
  const events = await readItems(used.map(([, id]) => eventItem(accessRequestId, id)));
  const written = new Map(used.map(([key], place) => [key, events[place]]));
  return { lastId, lastOrdinals, written };
}
type ListTails = Awaited<ReturnType<typeof readListTails>>;

async function readLastOrdinals(lists: Map<string, DenseList>): Promise<Map<string, number>> {
  const ends = [...lists].map(async ([name, list]) => [name, await readLastOrdinal(list)] as const);
  return new Map(await Promise.all(ends));
}
