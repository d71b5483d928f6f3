import { timestamp } from '../foundation/clock.ts';
import { updateItem } from '../storage/items.ts';
import { hashOf } from '../storage/keys.ts';
import { readRange } from '../storage/lists.ts';
import { type AccessRequest, accessRequestItem, eventLists } from './access-request.ts';
import { type AccessRequestEvent, type Actor, parseEvent } from './event.ts';

/** `none`: no decision is computed. */
export const decisions = ['none', 'pending', 'approved', 'rejected', 'expired'] as const;
export type Decision = (typeof decisions)[number];

/** The decision that is stored. Without `settle`, it may be out of date. */
export const decisionOf = ({ decision, approvals_needed }: AccessRequest): Decision =>
  decision ?? (approvals_needed === undefined ? 'none' : 'pending');

export const isPending = (request: AccessRequest): boolean => decisionOf(request) === 'pending';

/** Whether an access request has expired and nobody has stored that yet. */
export const isDue = (request: AccessRequest): boolean =>
  isPending(request) && request.open_until !== undefined && request.open_until <= timestamp();

/** Whether a review by an actor counts for the decision. */
export const mayReview = ({ self_review, requested_by: by }: AccessRequest, actor: Actor): boolean =>
  self_review !== false || by?.actor_type !== actor.actor_type || by.actor_id !== actor.actor_id;

/**
 * Brings the decision of an access request up to date with its reviews and its expiry. One conditional write stores the
 * decision, which is final, with the number of reviews that it comes from. Whoever shows a decision settles it before.
 */
export async function settle(request: AccessRequest): Promise<AccessRequest> {
  if (!isPending(request)) return request;
  const { access_request_id: id, reviews_counted } = request;
  const reviews = await readRange(eventLists(id).reviews, (reviews_counted ?? 0) + 1);
  const change = count(request, reviews.map(parseEvent));
  if (reviews.length === 0 && change.decision === undefined) return request;
  const written = await updateItem(accessRequestItem(id), {
    set: change,
    when: { decision: { exists: false }, reviews_counted: { is: reviews_counted } },
  });
  return written.done ? { ...request, ...change } : settle(accessRequestItem.parse(written.found ?? {}));
}

/** After every time in ISO 8601. */
const never = '9';

/**
 * Counts reviews in their order, until they decide. An actor's latest review counts; a rejection decides at once, so only a
 * repeated approval can follow an earlier review of the same actor.
 */
function count(request: AccessRequest, reviews: AccessRequestEvent[]) {
  const { open_until = never, approvals_needed = 1, reviews_counted = 0 } = request;
  const approvers = new Set(request.approvers);
  let decided: Pick<AccessRequest, 'decision' | 'decided_at'> = {};
  if (isDue(request)) decided = { decision: 'expired', decided_at: open_until };
  for (const review of reviews) {
    if (review.type !== 'review' || review.created_at >= open_until || !mayReview(request, review)) continue;
    if (review.status === 'approved') approvers.add(hashOf(review.actor_type, review.actor_id));
    if (review.status === 'rejected' || approvers.size >= approvals_needed) {
      decided = { decision: review.status, decided_at: review.created_at };
      break;
    }
  }
  return { ...decided, approvers: [...approvers], reviews_counted: reviews_counted + reviews.length };
}
