import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { isOthersWrite } from '../storage/conflicts.ts';
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
import { storeDecision } from './store-decision.ts';

/** Milliseconds between two attempts, at most. */
const longestPause = 2_000;
/**
 * Milliseconds within which the last attempt to add events must end. The function's timeout is
 * 10 s.
 */
const longestWriting = 8_000;

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
 * @param key the `Idempotency-Key`, if the request has one
 * @param append adds the event once the access is known; by default as one that decides nothing
 * @throws ServiceError `forbidden` as `requireAccess` does, `unprocessable_entity` when the key
 *   came with another event, and as `appendEvents` does
 */
export async function addEventFor(
  accountId: string,
  accessRequestId: number,
  body: NewEvent,
  key: string | undefined,
  append = appendWithoutDeciding,
): Promise<AccessRequestEvent> {
  const access = await requireAccess(accountId, accessRequestId);
  const draft: Draft = {
    event: body,
    writer: { account_id: accountId },
    idempotencyKey: key && hashOfKey(accountId, key),
    keyCountsSince: keysCountSince(),
  };
  const [appended] = await append(access, [draft]);
  const event = appended?.event;
  const isSameEvent = event && isDeepStrictEqual({ ...event, ...body }, event);
  if (!isSameEvent) throw usedForAnother();
  return event;
}

const appendWithoutDeciding = (access: Access, drafts: Draft[]): Promise<Appended[]> =>
  appendEvents(access.access_request_id, drafts);

/**
 * Adds a review for an account, as `addEventFor` does, and decides the access request if the review
 * does.
 */
export const addReviewFor = (
  accountId: string,
  id: number,
  body: NewEvent,
  key: string | undefined,
): Promise<AccessRequestEvent> => addEventFor(accountId, id, body, key, appendAndDecide);

/** Adds events to an access request, and decides it if a decision may be computed for it. */
async function appendAndDecide(access: Access, drafts: Draft[]): Promise<Appended[]> {
  const { access_request_id: id, is_decided: isDecided = true } = access;
  const request = isDecided ? await readAccessRequest(id) : undefined;
  return request ? addEvents(request, drafts) : appendEvents(id, drafts);
}

/**
 * Adds events as `appendEvents` does. A review that counts is put in one transaction with the
 * change that it makes to the access request.
 */
export const addEvents = (request: AccessRequest, drafts: Draft[]): Promise<Appended[]> =>
  appendEvents(request.access_request_id, drafts, decidingPutter(request));

/** The outcomes that `addEvents` would have, unless the access request is full. */
export async function foreseeEvents(
  { access_request_id }: AccessRequest,
  drafts: Draft[],
): Promise<Pick<Appended, 'outcome'>[]> {
  const { written } = await readListEnds(access_request_id, drafts);
  return drafts.map(({ idempotencyKey = '' }) => ({
    outcome: written.get(idempotencyKey) ? 'repeated' : 'added',
  }));
}

/** A way to put the events of an access request. */
interface EventPutter {
  /** Begins an attempt, for events that follow others. */
  begin: (ends: ListEnds) => Promise<void>;
  /**
   * Notes on an event whether it counts.
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
function decidingPutter(found: AccessRequest): EventPutter {
  /** The access request as the table has it. */
  let stored = found;
  /** The access request with all earlier reviews counted. */
  let current = found;
  /**
   * The access request after the event that is to be put; undefined if the event changes nothing.
   */
  let after: AccessRequest | undefined;
  return {
    begin: async (ends) => {
      current = await withEarlierReviews(stored, ends);
    },
    judge: (event, ordinal) => {
      after = undefined;
      const isDecidable = decisionOf(stored) !== 'none';
      if (event.type !== 'review' || !isDecidable) return event;
      const counted = withReview(current, event);
      const result = counted ?? current;
      const isChanged = result !== stored;
      if (isChanged) after = { ...result, reviews_counted: ordinal };
      return counted ? event : { ...event, counts: false };
    },
    put: async (item) => {
      if (!after) return plainPutter.put(item);
      const key = eventItem(item.access_request_id, item.id);
      const eventWrite = put(key, item, { pk: { exists: false } });
      const { done, request } = await storeDecision(stored, after, [eventWrite]);
      stored = request;
      current = request;
      return done;
    },
  };
}

/**
 * An access request with all stored reviews counted: also those that did not count, and those of a
 * version that knows no decisions.
 */
async function withEarlierReviews(
  request: AccessRequest,
  { ordinals }: ListEnds,
): Promise<AccessRequest> {
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
  const deadline = performance.now() + longestWriting;
  for (let attempt = 0; ; attempt += 1) {
    const startedAt = performance.now();
    const missing = drafts.slice(appended.length);
    const ends = await readListEnds(id, missing);
    await putter.begin(ends);
    for (const draft of missing) {
      const result = await append(id, ends, draft, putter);
      if (!result) break;
      appended.push(result);
    }
    if (appended.length === drafts.length) return appended;

    // Writers wait at random for up to four times as long as the attempt took, and each time for
    // twice as long: they ask a busy table less often.
    const duration = performance.now() - startedAt;
    const mostPause = Math.min(longestPause, duration * 2 ** (attempt + 2));
    const pause = Math.random() * mostPause;
    // The next attempt may take as long as this one.
    const nextEnd = performance.now() + pause + duration;
    if (nextEnd > deadline) throw tooManyWriters();
    await wait(pause);
  }
}

const tooManyWriters = () =>
  new ServiceError(
    'temporarily_unavailable',
    'Too many are writing to this access request at once; send the request again.',
  );

export interface Appended {
  event: AccessRequestEvent;
  outcome: 'added' | 'repeated';
}

/**
 * Adds an event under the next id, unless one was written under its idempotency key.
 * @param ends the ends of the lists, which move on with the event
 * @returns undefined when others have kept the event from being put
 */
async function append(
  accessRequestId: number,
  ends: ListEnds,
  draft: Draft,
  putter: EventPutter,
): Promise<Appended | undefined> {
  const { ordinals, written } = ends;
  const { idempotencyKey, keyCountsSince = '' } = draft;
  const earlier = idempotencyKey === undefined ? undefined : written.get(idempotencyKey);
  const isRepeated = earlier !== undefined && earlier.created_at >= keyCountsSince;
  if (isRepeated) return { event: earlier, outcome: 'repeated' };

  const { all, reviews } = eventLists(accessRequestId);
  const next = ({ name }: NumberedList): number => (ordinals.get(name) ?? 0) + 1;
  const id = next(all);
  const { created_at = timestamp(), updated_at = created_at } = draft;
  const made = v.parse(eventSchema, {
    ...draft.event,
    id,
    access_request_id: accessRequestId,
    created_at,
    updated_at,
  });
  const event = putter.judge(made, next(reviews));

  const lists = listsOf(accessRequestId, event);
  const positions = lists.map((list) => {
    const position = ordinalIn(list.name, next(list));
    return [sortKeyOf(list.index), position];
  });
  const item = {
    ...event,
    ...draft.writer,
    ...Object.fromEntries(positions),
    idempotency_key: idempotencyKey === undefined ? undefined : ordinalIn(idempotencyKey, id),
  };
  const isPut = await putter.put(item).catch(falseForConflict);
  if (!isPut) return undefined;

  for (const list of [all, ...lists]) ordinals.set(list.name, next(list));
  if (idempotencyKey !== undefined) written.set(idempotencyKey, event);
  return { event, outcome: 'added' };
}

/**
 * False for the error of a write that others have kept from being made.
 * @throws ServiceError `conflict` when the access request is full, or any other error as it is
 */
function falseForConflict(error: unknown): false {
  if (isOthersWrite(error)) return false;
  if (!isPartitionFull(error)) throw error;
  throw new ServiceError(
    'conflict',
    'The access request is full: it takes no more events. Create another one to go on.',
    'access_request_full',
  );
}

/** The ends of the lists that some events are going to join. */
interface ListEnds {
  /** The last ordinal of each list, by its name. */
  ordinals: Map<string, number>;
  /** The last event under each idempotency key that was used. */
  written: Map<string, AccessRequestEvent | undefined>;
}

/**
 * Reads the ends of the lists that these events join. The last id is read first: a put that
 * succeeds under the next one proves that nobody has changed the other lists since.
 */
async function readListEnds(accessRequestId: number, drafts: Draft[]): Promise<ListEnds> {
  const { all, underKey } = eventLists(accessRequestId);
  const ordinals = new Map([[all.name, await readLastOrdinal(all)]]);

  const keys = [...new Set(drafts.flatMap(({ idempotencyKey }) => idempotencyKey ?? []))];
  const joined = [
    ...drafts.flatMap(({ event }) => listsOf(accessRequestId, event)),
    ...keys.map(underKey),
  ];
  const lists = new Map(joined.map((list) => [list.name, list]));
  const readEnd = async ([name, list]: [string, NumberedList]) => {
    ordinals.set(name, await readLastOrdinal(list));
  };
  await Promise.all([...lists].map(readEnd));

  // The ordinals under a key are the ids of the events.
  const usedKeys = keys.filter((key) => ordinals.get(key));
  const events = await readItems(
    usedKeys.map((key) => eventItem(accessRequestId, ordinals.get(key) ?? 0)),
  );
  const written = new Map(usedKeys.map((key, position) => [key, events[position]]));
  return { ordinals, written };
}
