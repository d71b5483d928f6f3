import { deleteItem } from '../storage/items.ts';
import { type AccessRequest, readAccesses, readAccessRequest } from './access-request.ts';
import { mark } from './account-lists.ts';
import { type Appended, addEventFor, appendEvents, type Draft } from './append-events.ts';
import { isPending, mayReview, settle } from './decision.ts';
import type { NewEvent } from './new-event.ts';

/**
 * Adds events to an access request, in the given order, and settles its decision if they may change it. Before, it is marked
 * for every account that has access, so a search knows what a crash in between has left.
 * @throws ServiceError as `appendEvents` does
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

/** Adds a review for an account. @throws ServiceError as `addEventFor` does */
export const addReviewFor = (accountId: string, id: number, body: NewEvent, key: string | undefined) =>
  addEventFor(accountId, id, body, key, async ({ is_decided }, drafts) => {
    const request = is_decided ? await readAccessRequest(id) : undefined;
    return request ? addEvents(request, drafts) : appendEvents(id, drafts);
  });
