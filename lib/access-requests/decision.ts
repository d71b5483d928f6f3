import { timestamp } from '../foundation/clock.ts';
import { hashOf } from '../storage/keys.ts';
import { readRange } from '../storage/lists.ts';
import { type AccessRequest, eventLists } from './access-request.ts';
import { type AccessRequestEvent, type Actor, parseEvent } from './event.ts';

/** The decisions that an access request may have. With `none`, no decision is computed. */
export const decisions = ['none', 'pending', 'approved', 'rejected', 'expired'] as const;
export type Decision = (typeof decisions)[number];

/** The decision that is stored. It is out of date for an access request that has expired since. */
export function decisionOf({ decision, approvals_needed }: AccessRequest): Decision {
  if (decision !== undefined) return decision;
  // An access request that says how many approvals it needs waits for them.
  const isComputed = approvals_needed !== undefined;
  return isComputed ? 'pending' : 'none';
}

export const isPending = (request: AccessRequest): boolean => decisionOf(request) === 'pending';

/** A text that sorts after every time in ISO 8601: the expiry of what never expires. */
const never = '9';

/** An access request that is expired if it is pending and its time has come. */
export function withExpiry(request: AccessRequest): AccessRequest {
  const { open_until = never } = request;
  const isOpen = open_until > timestamp();
  if (!isPending(request) || isOpen) return request;
  return { ...request, decision: 'expired', decided_at: open_until };
}

/**
 * An access request with all of its reviews counted, and expired if its time has come. Nothing is
 * stored. Reviews are counted when they are added, except by a version that knows no decisions,
 * which may run at the same time as this one.
 */
export async function currentOf(request: AccessRequest): Promise<AccessRequest> {
  if (!isPending(request)) return request;
  const { access_request_id: id, reviews_counted = 0 } = request;
  const firstUncounted = reviews_counted + 1;
  const uncounted = await readRange(eventLists(id).reviews, firstUncounted);
  const counted = withReviews(request, uncounted.map(parseEvent));
  return withExpiry(counted);
}

/**
 * An access request with further reviews counted.
 * @param reviews those that follow the ones that are counted already
 */
export function withReviews(request: AccessRequest, reviews: AccessRequestEvent[]): AccessRequest {
  if (reviews.length === 0) return request;
  let result = request;
  for (const review of reviews) {
    const counted = withReview(result, review);
    if (counted) result = counted;
  }
  const { reviews_counted = 0 } = request;
  return { ...result, reviews_counted: reviews_counted + reviews.length };
}

/**
 * Counts a review: it is another approval, or it decides, which is final.
 * @returns undefined if the review does not count: the access request is decided or has expired,
 *   the person who requested it reviews it themselves and `self_review` is false, or the same actor
 *   has approved it before
 */
export function withReview(
  request: AccessRequest,
  event: AccessRequestEvent,
): AccessRequest | undefined {
  if (event.type !== 'review') return undefined;
  const { open_until = never, approvals_needed = 1, approvers = [] } = request;
  const isLate = event.created_at >= open_until;
  if (!isPending(request) || isLate) return undefined;
  if (!mayReview(request, event)) return undefined;

  // One rejection is enough.
  const verdict = { decision: event.status, decided_at: event.created_at };
  if (event.status === 'rejected') return { ...request, ...verdict };

  const approver = hashOfActor(event);
  if (approvers.includes(approver)) return undefined;
  const approversNow = [...approvers, approver];
  const approved = { ...request, approvers: approversNow };

  const isEnough = approversNow.length >= approvals_needed;
  return isEnough ? { ...approved, ...verdict } : approved;
}

/** Whether an actor's reviews count: those of the person who requested it may not. */
function mayReview({ self_review, requested_by }: AccessRequest, reviewer: Actor): boolean {
  const isSelfReviewAllowed = self_review !== false;
  if (isSelfReviewAllowed || requested_by === undefined) return true;
  return hashOfActor(reviewer) !== hashOfActor(requested_by);
}

/**
 * A hash that is the same for all spellings of an actor's id that look the same, so that nobody
 * counts as two actors.
 */
const hashOfActor = ({ actor_type, actor_id }: Actor): string =>
  hashOf(actor_type, withoutInvisible(actor_id));

/**
 * A text in one form of its characters, without characters that have no width and without spaces at
 * the ends.
 */
function withoutInvisible(text: string): string {
  const normal = text.normalize('NFKC');
  const visible = normal.replaceAll(/[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '');
  return visible.trim();
}
