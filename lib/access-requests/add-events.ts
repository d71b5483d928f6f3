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
import { type AccessRequest, eventItem, eventLists, listsOf, readAccessRequest } from './access-request.ts';
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

/** Adds a review for an account, as `addEventFor` does, and decides the access request if the review does. */
export const addReviewFor = (accountId: string, id: number, body: NewEvent, key: string | undefined) =>
  addEventFor(accountId, id, body, key, async ({ is_decided = true }, drafts) => {
    const request = is_decided ? await readAccessRequest(id) : undefined;
    return appendEvents(id, drafts, request);
  });

/** Adds events as `appendEvents` does. */
export const addEvents = (request: AccessRequest, drafts: Draft[]): Promise<Appended[]> =>
  appendEvents(request.access_request_id, drafts, request);

/** The outcomes that `addEvents` would have, unless the access request is full. */
export async function foreseeEvents({ access_request_id }: AccessRequest, drafts: Draft[]) {
  const { written } = await readTails(access_request_id, drafts);
  return drafts.map(({ idempotencyKey = '' }): Pick<Appended, 'outcome'> => {
    return { outcome: written.get(idempotencyKey) ? 'repeated' : 'added' };
  });
}

/** An access request as it is stored, and as it is with all reviews counted. */
interface Known {
  stored: AccessRequest;
  current: AccessRequest;
}

/**
 * Adds events in the given order, each by one conditional put under the next id. A review that counts is put in one
 * transaction with what it makes of the access request. When another writer has taken that id, or has changed the access
 * request, it reads the ends of the lists again and repeats the write.
 * @param request the access request, if a decision may be computed for it
 * @throws ServiceError `conflict` when the access request is full, `temporarily_unavailable` when others are faster for
 *   8 s; the events added so far stay
 */
async function appendEvents(id: number, drafts: Draft[], request?: AccessRequest): Promise<Appended[]> {
  const appended: Appended[] = [];
  const giveUpAt = performance.now() + patience;
  let stored = request;
  for (let attempt = 0; ; attempt += 1) {
    const startedAt = performance.now();
    const missing = drafts.slice(appended.length);
    const tails = await readTails(id, missing);
    let known = stored && { stored, current: await countEarlier(stored, tails) };
    for (const draft of missing) {
      const result = await append(id, tails, draft, known);
      known = result.known;
      if (!result.appended) break;
      appended.push(result.appended);
    }
    stored = known?.stored;
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

/** An access request with the reviews counted that did not count, or that a version without decisions added. */
async function countEarlier(request: AccessRequest, { ordinals }: Tails): Promise<AccessRequest> {
  const { access_request_id: id, reviews_counted = 0 } = request;
  const { reviews } = eventLists(id);
  const last = ordinals.get(reviews.name) ?? 0;
  if (!isPending(request) || last <= reviews_counted) return request;
  const earlier = await readRange(reviews, reviews_counted + 1, last);
  return withReviews(request, earlier.map(parseEvent));
}

export interface Appended {
  event: AccessRequestEvent;
  outcome: 'added' | 'repeated';
}

/** Adds an event under the next id. Nothing is appended when another writer has taken it, or changed the access request. */
async function append(
  accessRequestId: number,
  { ordinals, written }: Tails,
  draft: Draft,
  known: Known | undefined,
): Promise<{ appended?: Appended; known: Known | undefined }> {
  const { idempotencyKey: key, keyCountsSince = '' } = draft;
  const earlier = key === undefined ? undefined : written.get(key);
  if (earlier && earlier.created_at >= keyCountsSince)
    return { appended: { event: earlier, outcome: 'repeated' }, known };

  const next = ({ name }: NumberedList): number => (ordinals.get(name) ?? 0) + 1;
  const { all, reviews } = eventLists(accessRequestId);
  const id = next(all);
  const { created_at = timestamp(), updated_at = created_at } = draft;
  const identity = { id, access_request_id: accessRequestId };
  const made = v.parse(eventSchema, { ...draft.event, ...identity, created_at, updated_at });
  const { event, after } = judge(made, known, next(reviews));
  const lists = listsOf(accessRequestId, event);
  const placement = lists.map((list) => [sortKeyOf(list.index), ordinalIn(list.name, next(list))]);
  const idempotency_key = key === undefined ? undefined : ordinalIn(key, id);
  const item = { ...event, ...draft.writer, ...Object.fromEntries(placement), idempotency_key };
  const result = await putEvent(item, known, after).catch(refusalOf);
  if (!result) return { known };
  if (!result.isPut) return { known: result.known };
  for (const list of [all, ...lists]) ordinals.set(list.name, next(list));
  if (key !== undefined) written.set(key, event);
  return { appended: { event, outcome: 'added' }, known: result.known };
}

/** An event with whether it counts, and the access request after it if that changes. @param ordinal that of a review */
function judge(event: AccessRequestEvent, known: Known | undefined, ordinal: number) {
  if (!known || event.type !== 'review' || decisionOf(known.stored) === 'none') return { event };
  const counted = withReview(known.current, event);
  const after = counted ?? known.current;
  const isChanged = after !== known.stored;
  return {
    event: counted ? event : { ...event, counts: false as const },
    after: isChanged ? { ...after, reviews_counted: ordinal } : undefined,
  };
}

/** Puts an event under its id, if it is free, with what it makes of the access request, if anything. */
async function putEvent(
  item: AccessRequestEvent & Writer,
  known: Known | undefined,
  after: AccessRequest | undefined,
) {
  const key = eventItem(item.access_request_id, item.id);
  if (!known || !after) return { isPut: await putItem(key, item, { ifAbsent: true }), known };
  const itself = put(key, item, { pk: { exists: false } });
  const { done, request } = await storeResult(known.stored, after, [itself]);
  return { isPut: done, known: { stored: request, current: request } };
}

/** Undefined for a write that others have kept from being made. @throws ServiceError `conflict`, or any other error */
function refusalOf(error: unknown): undefined {
  if (isConflict(error)) return undefined;
  if (!isPartitionFull(error)) throw error;
  const message = 'The access request is full: it takes no more events. Create another one to go on.';
  throw new ServiceError('conflict', message, 'access_request_full');
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
