import { setTimeout as wait } from 'node:timers/promises';
import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { isPartitionFull, putItem } from '../storage/items.ts';
import { ordinalIn } from '../storage/keys.ts';
import { sortKeyOf } from '../storage/lists.ts';
import { type Access, requireAccess } from './access-request.ts';
import { type AccessRequestEvent, eventSchema, type Writer } from './event.ts';
import { compactIndexes, eventItem, type ListTails, listsOf, nameOf, readListTails } from './event-lists.ts';
import { hashOfKey, keysCountSince, usedForAnother } from './idempotency.ts';
import type { NewEvent } from './new-event.ts';

/** Milliseconds, at most, before a repetition. */
const longestPause = 2_000;
/** Milliseconds within which a writer's last attempt must end. The function's timeout is 10 s. */
const patience = 8_000;

/** An event to be written. */
export interface Draft {
  event: NewEvent & { counts?: false };
  writer: Writer;
  /** A hash. If an event was written under it, that event is the result, and no new one is written. */
  idempotencyKey?: string | undefined;
  /** ISO 8601. An event under the key that is older does not count. */
  keyCountsSince?: string | undefined;
  /** ISO 8601, for events that come with their times. Otherwise: now. */
  created_at?: string | undefined;
  updated_at?: string | undefined;
}

export interface Appended {
  event: AccessRequestEvent;
  outcome: 'added' | 'repeated';
}

/**
 * Adds events to an access request, in the given order. Each is one conditional put under the next id. When another
 * writer has taken that id, the events written meanwhile are read, and the put is tried again.
 * @throws ServiceError `conflict` when the access request is full, `temporarily_unavailable` when others are faster for
 *   8 s; the events added so far stay
 */
export async function appendEvents(accessRequestId: number, drafts: Draft[]): Promise<Appended[]> {
  const appended: Appended[] = [];
  const giveUpAt = performance.now() + patience;
  const end = await readListTails(accessRequestId, drafts);
  for (let attempt = 0; ; attempt += 1) {
    const startedAt = performance.now();
    if (attempt > 0) await compactIndexes(accessRequestId, end);
    for (const draft of drafts.slice(appended.length)) {
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

/** Undefined when another writer has taken the next id. */
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
    throw new ServiceError('conflict', message, { reason: 'access_request_full' });
  }
  end.lastId = id;
  for (const { list, ordinal } of places) end.lastOrdinals.set(nameOf(list), ordinal);
  if (key !== undefined) end.written.set(key, event);
  return { event, outcome: 'added' };
}

/**
 * Adds an event for an account. A request that is repeated with its `Idempotency-Key` within 24 hours gets the
 * event of the first one, even when both arrive at once.
 * @throws ServiceError `forbidden` when the account has no access, or there is no such access request,
 *   `unprocessable_entity` when the key came with another event
 * @param append adds the event, by the account's access
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
  if (!appended || !hasContent(appended.event, body)) throw usedForAnother();
  return appended.event;
}

const hasContent = (event: AccessRequestEvent, body: NewEvent): boolean => {
  const stored = new Map(Object.entries(event));
  return Object.entries(body).every(([field, value]) => stored.get(field) === value);
};
