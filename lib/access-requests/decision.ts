import { timestamp } from '../foundation/clock.ts';
import { hashOf } from '../storage/keys.ts';
import { readRange } from '../storage/lists.ts';
import { type AccessRequest, eventLists } from './access-request.ts';
import { type AccessRequestEvent, type Actor, parseEvent } from './event.ts';

/** `none`: no decision is computed. */
export const decisions = ['none', 'pending', 'approved', 'rejected', 'expired'] as const;
export type Decision = (typeof decisions)[number];

/** The decision that is stored. Of one that has expired, it may be out of date. */
export const decisionOf = ({ decision, approvals_needed }: AccessRequest): Decision =>
  decision ?? (approvals_needed === undefined ? 'none' : 'pending');

export const isPending = (request: AccessRequest): boolean => decisionOf(request) === 'pending';

/** An access request that has expired if its time has come. */
export function atThisTime(request: AccessRequest): AccessRequest {
  const { open_until = never } = request;
  if (!isPending(request) || open_until > timestamp()) return request;
  return { ...request, decision: 'expired', decided_at: open_until };
}

/** After every time in ISO 8601. */
const never = '9';

/**
 * An access request with all of its reviews counted, and expired if its time has come. It stores
 * nothing. Only a version that knows no decisions, while it runs beside this one, adds a review
 * that is not counted with it.
 */
export async function currentOf(request: AccessRequest): Promise<AccessRequest> {
  if (!isPending(request)) return request;
  const { access_request_id: id, reviews_counted = 0 } = request;
  const reviews = await readRange(eventLists(id).reviews, reviews_counted + 1);
  return atThisTime(withReviews(request, reviews.map(parseEvent)));
}

/** An access request with the reviews counted that follow the counted ones. */
export function withReviews(request: AccessRequest, reviews: AccessRequestEvent[]): AccessRequest {
  if (reviews.length === 0) return request;
  const result = reviews.reduce((before, review) => withReview(before, review) ?? before, request);
  return { ...result, reviews_counted: (request.reviews_counted ?? 0) + reviews.length };
}

/**
 * Counts a review: it is another approval, or it decides, which is final. The first rejection
 * rejects.
 * @returns undefined if the review does not count: the access request is decided or has expired, it
 *   is by the one who requested it and `self_review` is false, or it is another approval by the
 *   same actor
 */
export function withReview(
  request: AccessRequest,
  event: AccessRequestEvent,
): AccessRequest | undefined {
  const { open_until = never, approvals_needed = 1, approvers = [] } = request;
  if (event.type !== 'review' || !isPending(request) || event.created_at >= open_until)
    return undefined;
  if (!mayReview(request, event)) return undefined;
  const decided = { decision: event.status, decided_at: event.created_at };
  if (event.status === 'rejected') return { ...request, ...decided };
  const approver = hashOf(...partsOf(event));
  if (approvers.includes(approver)) return undefined;
  const approved = { ...request, approvers: [...approvers, approver] };
  return approved.approvers.length < approvals_needed ? approved : { ...approved, ...decided };
}

function mayReview({ self_review, requested_by }: AccessRequest, actor: Actor): boolean {
  if (self_review !== false || !requested_by) return true;
  return hashOf(...partsOf(requested_by)) !== hashOf(...partsOf(actor));
}

/**
 * An actor as they are told apart. Somebody who spells their id in another way that looks the same
 * is nobody else.
 */
const partsOf = ({ actor_type, actor_id }: Actor) => [actor_type, canonical(actor_id)];

/**
 * A text without what is not seen: other forms of the same characters, characters without a width,
 * spaces at the ends.
 */
const canonical = (text: string): string =>
  text
    .normalize('NFKC')
    .replaceAll(/[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '')
    .trim();
