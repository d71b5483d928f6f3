import * as v from 'valibot';
import { type ItemKey, type ItemOf, itemKind, readItem, updateItem } from '../storage/items.ts';
import * as keys from '../storage/keys.ts';
import type { NumberedList } from '../storage/lists.ts';
import type { LocalIndex } from '../storage/table.ts';
import {
  type AccessRequestEvent,
  type Actor,
  actorSchema,
  eventSchema,
  type Writer,
} from './event.ts';

export const accessRequestItem = itemKind(
  v.object({
    access_request_id: v.number(),
    /** The account that created it, or that the operator created it for. */
    account_id: v.string(),
    /** The ARN of the operator who created it, if one did. */
    operator: v.optional(v.string()),
    created_at: v.string(),
    /**
     * When the operator took the creator's access away: a repeated creation must not give it back.
     */
    creator_revoked_at: v.optional(v.string()),
    title: v.optional(v.string()),
    reference: v.optional(v.string()),
    requested_by: v.optional(actorSchema),
    /** Absent where no decision is computed. */
    approvals_needed: v.optional(v.number()),
    self_review: v.optional(v.boolean()),
    /**
     * ISO 8601: `expires_at` under another name, since the table deletes an item by an
     * attribute of that name.
     */
    open_until: v.optional(v.string()),
    /** Final once it is set. */
    decision: v.optional(v.picklist(['approved', 'rejected', 'expired'])),
    decided_at: v.optional(v.string()),
    /** Hashes of the actors whose approvals count. */
    approvers: v.optional(v.array(v.string())),
    /** How many of its reviews the decision and the approvers come from. */
    reviews_counted: v.optional(v.number()),
    /** Counts the changes of this item, and of who has access. */
    revision: v.optional(v.number()),
  }),
  keys.accessRequestKey,
);

export type AccessRequest = ItemOf<typeof accessRequestItem>;

/** The error for a counter that has gone back, as in a table that was restored in part. */
export const idIsTaken = (id: number) =>
  new Error(`The id ${id} belongs to another access request already.`);

const counterItem = itemKind(v.object({ last_id: v.number() }), keys.accessRequestCounterKey);

/**
 * Takes consecutive ids from the counter, by a write that no other writer makes fail.
 * @returns the first of them
 */
export async function takeIds(count: number): Promise<number> {
  const outcome = await updateItem(counterItem(), { count: { last_id: { by: count } } });
  if (!outcome.done)
    throw new Error('The counter of access requests refused a write without a condition.');
  const { before, after } = outcome;
  // A lost answer tells what the counter was after the write, and any other what it was before.
  if (after) return counterItem.parse(after).last_id - count + 1;
  if (before) return counterItem.parse(before).last_id + 1;
  return 1;
}

export const readAccessRequest = (id: number) => readItem(accessRequestItem(id));

export const eventItem: (
  accessRequestId: number,
  id: number,
) => ItemKey<AccessRequestEvent, AccessRequestEvent & Writer> = itemKind(
  eventSchema,
  keys.eventKey,
);

/**
 * The lists of an access request's events. Their names differ from each other and from the hashes
 * of idempotency keys, which name lists, too.
 */
export function eventLists(accessRequestId: number) {
  const pk = keys.accessRequestPartition(accessRequestId);
  const list = (name: string, index?: LocalIndex): NumberedList => ({ pk, index, name });
  return {
    all: list(keys.eventList),
    reviews: list(keys.reviewList, 'by_review'),
    ofActorType: (type: string) => list(keys.actorTypeList(type), 'by_actor_type'),
    ofActorId: (id: string) => list(keys.actorIdList(id), 'by_actor_id'),
    ofActor: (type: string, id: string) => list(keys.actorList(type, id), 'by_actor'),
    /** The ordinals are the ids of the events. */
    underKey: (idempotencyKey: string) => list(idempotencyKey, 'by_idempotency_key'),
  };
}

/** The lists that an event is in, besides that of all events. */
export function listsOf(accessRequestId: number, event: Actor & { type: string }): NumberedList[] {
  const { type, actor_type, actor_id } = event;
  const lists = eventLists(accessRequestId);
  const listsOfAuthor = [
    lists.ofActorType(actor_type),
    lists.ofActorId(actor_id),
    lists.ofActor(actor_type, actor_id),
  ];
  return type === 'review' ? [...listsOfAuthor, lists.reviews] : listsOfAuthor;
}
