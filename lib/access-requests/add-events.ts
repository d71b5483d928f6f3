import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
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
  /** ISO 8601. An older event under the key does not count. */
  keyCountsSince?: string;
  /** ISO 8601. @default now */
  created_at?: string | undefined;
  updated_at?: string | undefined;
}

/**
 * Adds an event for an account. A request that comes again with its `Idempotency-Key` within 24 hours gets the event of the
 * first one, even when both arrive at once.
 * @throws ServiceError `forbidden` as `requireAccess` does, `unprocessable_entity` when the key came with another event, and
 *   as `appendEvents` does
 */
export async function addEventFor(
  accountId: string,
  accessRequestId: number,
  body: NewEvent,
  key: string | undefined,
  append = (access: Access, drafts: Draft[]) => appendEvents(access.access_request_id, drafts),
): Promise<AccessRequestEvent> {
  const access = await requireAccess(accountId, accessRequestId);
  const draft = {
    event: body,
    writer: { account_id: accountId },
    idempotencyKey: key && hashOfKey(accountId, key),
    keyCountsSince: keysCountSince(),
  };
  const [appended] = await append(access, [draft]);
  if (!appended || !isDeepStrictEqual({ ...appended.event, ...body }, appended.event)) throw usedForAnother();
  return appended.event;
}

/** Adds a review for an account, as `addEventFor` does, and settles the decision if there is one. */
export const addReviewFor = (accountId: string, id: number, body: NewEvent, key: string | undefined) =>
  addEventFor(accountId, id, body, key, async ({ is_decided }, drafts) => {
    const request = is_decided ? await readAccessRequest(id) : undefined;
    return request ? addEvents(request, drafts) : appendEvents(id, drafts);
  });

/**
 * Adds events as `appendEvents` does, and settles the decision if they may change it. Before, it marks the access request
 * for every account that has access: a search then notices a decision that a crash has left open.
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
 * Adds events in the given order, each by one conditional put under the next id. When another writer has taken that id, it
 * reads the ends of the lists again and repeats the put.
 * @throws ServiceError `conflict` when the access request is full, `temporarily_unavailable` when others are faster for
 *   8 s; the events added so far stay
 */
async function appendEvents(accessRequestId: number, drafts: Draft[]): Promise<Appended[]> {
  const appended: Appended[] = [];
  const giveUpAt = performance.now() + patience;
  for (let attempt = 0; ; attempt += 1) {
    const startedAt = performance.now();
    const missing = drafts.slice(appended.length);
    const tails = await readTails(accessRequestId, missing);
    for (const draft of missing) {
      const result = await append(accessRequestId, tails, draft);
      if (!result) break;
      appended.push(result);
    }
    if (appended.length === drafts.length) return appended;
    // Up to four times as long as the attempt took, doubled each time: a busy table is asked less often.
    const took = performance.now() - startedAt;
    const pause = Math.random() * Math.min(longestPause, took * 2 ** (attempt + 2));
    // The next attempt may take as long as this one.
    if (performance.now() + pause + took > giveUpAt) {
      const message = 'Too many are writing to this access request at once; send the request again.';
      throw new ServiceError('temporarily_unavailable', message);
    }
    await wait(pause);
  }
}

type Appended = NonNullable<Awaited<ReturnType<typeof append>>>;

/** Adds an event under the next id; undefined when another writer has taken it. */
async function append(accessRequestId: number, { ordinals, written }: Tails, draft: Draft) {
  const { idempotencyKey: key, keyCountsSince = '' } = draft;
  const earlier = key === undefined ? undefined : written.get(key);
  if (earlier && earlier.created_at >= keyCountsSince)
    return { event: earlier, outcome: 'repeated' as const };

  const next = ({ name }: DenseList): number => (ordinals.get(name) ?? 0) + 1;
  const { all } = eventLists(accessRequestId);
  const id = next(all);
  const { created_at = timestamp(), updated_at = created_at } = draft;
  const identity = { id, access_request_id: accessRequestId };
  const event = v.parse(eventSchema, { ...draft.event, ...identity, created_at, updated_at });
  const lists = listsOf(accessRequestId, event);
  const placement = lists.map((list) => [sortKeyOf(list.index), ordinalIn(list.name, next(list))]);
  const idempotency_key = key === undefined ? undefined : ordinalIn(key, id);
  const item = { ...event, ...draft.writer, ...Object.fromEntries(placement), idempotency_key };
  try {
    if (!(await putItem(eventItem(accessRequestId, id), item, { ifAbsent: true }))) return undefined;
  } catch (error) {
    if (!isPartitionFull(error)) throw error;
    const message = 'The access request is full: it takes no more events. Create another one to go on.';
    throw new ServiceError('conflict', message, 'access_request_full');
  }
  for (const list of [all, ...lists]) ordinals.set(list.name, next(list));
  if (key !== undefined) written.set(key, event);
  return { event, outcome: 'added' as const };
}

/**
 * Reads the last ordinals of the lists that these events join, by name, and the last event under each of their idempotency
 * keys. The last id is read first: a put that succeeds under the next one proves that nobody has changed the others since.
 */
async function readTails(accessRequestId: number, drafts: Draft[]) {
  const { all, underKey } = eventLists(accessRequestId);
  const keys = [...new Set(drafts.flatMap(({ idempotencyKey }) => idempotencyKey ?? []))];
  const joined = [...drafts.flatMap(({ event }) => listsOf(accessRequestId, event)), ...keys.map(underKey)];
  const ordinals = new Map([[all.name, await readLastOrdinal(all)]]);
  const lists = new Map(joined.map((list) => [list.name, list]));
  await Promise.all([...lists].map(async ([name, list]) => ordinals.set(name, await readLastOrdinal(list))));
  const used = keys.filter((key) => ordinals.get(key));
  const events = await readItems(used.map((key) => eventItem(accessRequestId, ordinals.get(key) ?? 0)));
  return { ordinals, written: new Map(used.map((key, place) => [key, events[place]])) };
}
type Tails = Awaited<ReturnType<typeof readTails>>;
