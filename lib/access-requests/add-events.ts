import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { isConflict } from '../storage/conflicts.ts';
import { isPartitionFull, putItem, readItems } from '../storage/items.ts';
import { ordinalIn } from '../storage/keys.ts';
import { type NumberedList, readLastOrdinal, readRange, sortKeyOf } from '../storage/lists.ts';
import { put } from '../storage/transactions.ts';
import {
  type AccessRequest,
  eventItem,
  eventLists,
  listsOf,
  readAccessRequest,
} from './access-request.ts';
import { type Access, requireAccess } from './accesses.ts';
import { decisionOf, isPending, withReview, withReviews } from './decision.ts';
import { type AccessRequestEvent, eventSchema, parseEvent, type Writer } from './event.ts';
import { hashOfKey, keysCountSince, usedForAnother } from './idempotency.ts';
import type { NewEvent } from './new-event.ts';
import { storeResult } from './store-decision.ts';

/** Milliseconds before a repetition, at most. */
const longestPause = 2_000;
/** Milliseconds within which a writer's last attempt must end. The function's timeout is 10 s. */
const patience = 8_000;

export interface Draft {
  event: NewEvent;
  writer: Writer;
  /** A hash. If an event was written under it, that one is the result. */
  idempotencyKey?: string | undefined;
  /** ISO 8601. An older event under the key does not count. */
  keyCountsSince?: string;
  /**
   * ISO 8601.
   * @default now
   */
  created_at?: string | undefined;
  updated_at?: string | undefined;
}

/**
 * Adds an event for an account. A request that comes again with its `Idempotency-Key` within 24
 * hours gets the event of the first one, even when both arrive at once.
 * @throws ServiceError `forbidden` as `requireAccess` does, `unprocessable_entity` when the key
 *   came with another event, and as `appendEvents` does
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
  if (!appended || !isDeepStrictEqual({ ...appended.event, ...body }, appended.event))
    throw usedForAnother();
  return appended.event;
}

/**
 * Adds a review for an account, as `addEventFor` does, and decides the access request if the review
 * does.
 */
export const addReviewFor = (
  accountId: string,
  id: number,
  body: NewEvent,
  key: string | undefined,
) =>
  addEventFor(accountId, id, body, key, async ({ is_decided = true }, drafts) => {
    const request = is_decided ? await readAccessRequest(id) : undefined;
    return request ? addEvents(request, drafts) : appendEvents(id, drafts);
  });

/**
 * Adds events as `appendEvents` does. A review that counts is put in one transaction with what it
 * makes of the access request.
 */
export const addEvents = (request: AccessRequest, drafts: Draft[]): Promise<Appended[]> =>
  appendEvents(request.access_request_id, drafts, putterFor(request));

/** The outcomes that `addEvents` would have, unless the access request is full. */
export async function foreseeEvents({ access_request_id }: AccessRequest, drafts: Draft[]) {
  const { written } = await readTails(access_request_id, drafts);
  return drafts.map(({ idempotencyKey = '' }): Pick<Appended, 'outcome'> => {
    return { outcome: written.get(idempotencyKey) ? 'repeated' : 'added' };
  });
}

/** The way in which events of an access request are put. */
interface EventPutter {
  /** Begins an attempt, for events that follow others. */
  begin: (tails: Tails) => Promise<void>;
  /**
   * Tells whether an event counts.
   * @param ordinal that of a review among the reviews
   */
  judge: (event: AccessRequestEvent, ordinal: number) => AccessRequestEvent;
  /**
   * Puts the event that was judged last. False if another writer has taken its id, or changed the
   * access request.
   */
  put: (item: AccessRequestEvent & Writer) => Promise<boolean>;
}

/** Puts events that decide nothing. */
const plainPutter: EventPutter = {
  begin: async () => {},
  judge: (event) => event,
  put: (item) => putItem(eventItem(item.access_request_id, item.id), item, { ifAbsent: true }),
};

/** Puts events of an access request for which a decision may be computed. */
function putterFor(found: AccessRequest): EventPutter {
  let stored = found;
  /** With all reviews counted. */
  let current = found;
  /** After the event, if that changes it. */
  let after: AccessRequest | undefined;
  return {
    begin: async (tails) => {
      current = await countEarlier(stored, tails);
    },
    judge: (event, ordinal) => {
      after = undefined;
      if (event.type !== 'review' || decisionOf(stored) === 'none') return event;
      const counted = withReview(current, event);
      const result = counted ?? current;
      if (result !== stored) after = { ...result, reviews_counted: ordinal };
      return counted ? event : { ...event, counts: false };
    },
    put: async (item) => {
      if (!after) return plainPutter.put(item);
      const key = eventItem(item.access_request_id, item.id);
      const itself = put(key, item, { pk: { exists: false } });
      const { done, request } = await storeResult(stored, after, [itself]);
      stored = request;
      current = request;
      return done;
    },
  };
}

/**
 * An access request with the reviews counted that did not count, or that a version without
 * decisions added.
 */
async function countEarlier(request: AccessRequest, { ordinals }: Tails): Promise<AccessRequest> {
  const { access_request_id: id, reviews_counted = 0 } = request;
  const { reviews } = eventLists(id);
  const last = ordinals.get(reviews.name) ?? 0;
  if (!isPending(request) || last <= reviews_counted) return request;
  const earlier = await readRange(reviews, reviews_counted + 1, last);
  return withReviews(request, earlier.map(parseEvent));
}

/**
 * Adds events in the given order, each by one conditional put under the next id. When another
 * writer has taken that id, it reads the ends of the lists again and repeats the put.
 * @throws ServiceError `conflict` when the access request is full, `temporarily_unavailable` when
 *   others are faster for 8 s; the events added so far stay
 */
async function appendEvents(
  id: number,
  drafts: Draft[],
  putter = plainPutter,
): Promise<Appended[]> {
  const appended: Appended[] = [];
  const giveUpAt = performance.now() + patience;
  for (let attempt = 0; ; attempt += 1) {
    const startedAt = performance.now();
    const missing = drafts.slice(appended.length);
    const tails = await readTails(id, missing);
    await putter.begin(tails);
    for (const draft of missing) {
      const result = await append(id, tails, draft, putter);
      if (!result) break;
      appended.push(result);
    }
    if (appended.length === drafts.length) return appended;
    // Up to four times as long as the attempt took, doubled each time: a busy table is asked less
    // often.
    const took = performance.now() - startedAt;
    const pause = Math.random() * Math.min(longestPause, took * 2 ** (attempt + 2));
    // The next attempt may take as long as this one.
    if (performance.now() + pause + took > giveUpAt) {
      const message =
        'Too many are writing to this access request at once; send the request again.';
      throw new ServiceError('temporarily_unavailable', message);
    }
    await wait(pause);
  }
}

export interface Appended {
  event: AccessRequestEvent;
  outcome: 'added' | 'repeated';
}

/** Adds an event under the next id; undefined when others have kept it from being put. */
async function append(
  accessRequestId: number,
  { ordinals, written }: Tails,
  draft: Draft,
  putter: EventPutter,
): Promise<Appended | undefined> {
  const { idempotencyKey: key, keyCountsSince = '' } = draft;
  const earlier = key === undefined ? undefined : written.get(key);
  if (earlier && earlier.created_at >= keyCountsSince)
    return { event: earlier, outcome: 'repeated' };

  const next = ({ name }: NumberedList): number => (ordinals.get(name) ?? 0) + 1;
  const { all, reviews } = eventLists(accessRequestId);
  const id = next(all);
  const { created_at = timestamp(), updated_at = created_at } = draft;
  const identity = { id, access_request_id: accessRequestId };
  const made = v.parse(eventSchema, { ...draft.event, ...identity, created_at, updated_at });
  const event = putter.judge(made, next(reviews));
  const lists = listsOf(accessRequestId, event);
  const placement = lists.map((list) => [sortKeyOf(list.index), ordinalIn(list.name, next(list))]);
  const idempotency_key = key === undefined ? undefined : ordinalIn(key, id);
  const item = { ...event, ...draft.writer, ...Object.fromEntries(placement), idempotency_key };
  const isPut = await putter.put(item).catch(refusalOf);
  if (!isPut) return undefined;
  for (const list of [all, ...lists]) ordinals.set(list.name, next(list));
  if (key !== undefined) written.set(key, event);
  return { event, outcome: 'added' };
}

/**
 * False for a write that others have kept from being made.
 * @throws ServiceError `conflict`, or any other error
 */
function refusalOf(error: unknown): false {
  if (isConflict(error)) return false;
  if (!isPartitionFull(error)) throw error;
  const message =
    'The access request is full: it takes no more events. Create another one to go on.';
  throw new ServiceError('conflict', message, 'access_request_full');
}

/**
 * Reads the last ordinals of the lists that these events join, by name, and the last event under
 * each of their idempotency keys. The last id is read first: a put that succeeds under the next one
 * proves that nobody has changed the others since.
 */
async function readTails(accessRequestId: number, drafts: Draft[]) {
  const { all, underKey } = eventLists(accessRequestId);
  const keys = [...new Set(drafts.flatMap(({ idempotencyKey }) => idempotencyKey ?? []))];
  const joined = [
    ...drafts.flatMap(({ event }) => listsOf(accessRequestId, event)),
    ...keys.map(underKey),
  ];
  const ordinals = new Map([[all.name, await readLastOrdinal(all)]]);
  const lists = new Map(joined.map((list) => [list.name, list]));
  await Promise.all(
    [...lists].map(async ([name, list]) => ordinals.set(name, await readLastOrdinal(list))),
  );
  const used = keys.filter((key) => ordinals.get(key));
  const events = await readItems(
    used.map((key) => eventItem(accessRequestId, ordinals.get(key) ?? 0)),
  );
  return { ordinals, written: new Map(used.map((key, place) => [key, events[place]])) };
}
type Tails = Awaited<ReturnType<typeof readTails>>;
