import * as v from 'valibot';
import { clock, timestamp } from '../foundation/clock.ts';
import { ServiceError } from '../foundation/service-error.ts';
import type { Conditions } from '../storage/expressions.ts';
import { itemKind, readItems, updateItem } from '../storage/items.ts';
import { referenceKey } from '../storage/keys.ts';
import {
  type AccessRequest,
  accessItem,
  accessRequestItem,
  deleteAccess,
  idIsTaken,
  putAccess,
  putAccessRequest,
  takeIds,
} from './access-request.ts';
import { mark } from './account-lists.ts';

/** The claim of a reference by an access request. */
const referenceItem = itemKind(
  v.object({ access_request_id: v.number(), claimed_at: v.string() }),
  referenceKey,
);

/** Milliseconds after which a claim whose access request was never finished counts for nothing. */
const finishedWithin = 60_000;

/**
 * Creates an access request for an account. A crash in between leaves one that nobody has access to, and whose id was never
 * returned.
 * @param more attributes of it, such as the ARN of the operator who creates it for the account
 * @throws ServiceError `conflict` when another access request has the reference
 */
export async function createAccessRequest(
  accountId: string,
  more: Partial<AccessRequest> = {},
): Promise<AccessRequest> {
  const access_request_id = await takeIds(1);
  const made = { ...more, access_request_id, account_id: accountId, created_at: timestamp() };
  await claimReference(made);
  if (!(await makeAccessRequest(made))) throw idIsTaken(access_request_id);
  return made;
}

/**
 * Writes an access request under an id that was taken for it, and then gives its account access: the marks for the account's
 * lists come before.
 * @returns false when another one has the id
 */
export async function makeAccessRequest(made: AccessRequest): Promise<boolean> {
  await markBefore(made, made.account_id, 'new');
  if (!(await putAccessRequest(made))) return false;
  await give(made, made.account_id);
  return true;
}

/** Gives an account access to an access request. @param about `new` if no other account has had access yet */
export async function grantAccess(
  request: AccessRequest,
  accountId: string,
  about: 'new' | 'access' = 'access',
): Promise<void> {
  await markBefore(request, accountId, about);
  await give(request, accountId);
}

/** Takes the access away from an account. The access request remembers when that is its creator. */
export async function revokeAccess(
  { access_request_id: id, account_id }: AccessRequest,
  accountId: string,
): Promise<void> {
  if (account_id === accountId) {
    await updateItem(accessRequestItem(id), { set: { creator_revoked_at: timestamp() } });
  }
  await mark(id, accountId, 'access');
  await deleteAccess(id, accountId);
}

const markBefore = (
  { access_request_id: id, ...request }: AccessRequest,
  to: string,
  about: 'new' | 'access',
) =>
  Promise.all([
    mark(id, to, about),
    request.open_until !== undefined && mark(id, to, 'due', request.open_until),
  ]);

const give = (request: AccessRequest, accountId: string) =>
  putAccess(request.access_request_id, accountId, {
    is_decided: request.approvals_needed === undefined ? undefined : true,
  });

/**
 * Claims the reference of an access request, if it has one, before it is written.
 * @throws ServiceError `conflict`, naming the access request of the account that has it
 */
export async function claimReference({ reference, account_id, access_request_id }: AccessRequest) {
  if (reference === undefined) return;
  const set = { access_request_id, claimed_at: timestamp() };
  const claim = (when: Conditions) => updateItem(referenceItem(account_id, reference), { set, when });
  let outcome = await claim({ pk: { exists: false } });
  if (outcome.done) return;
  const { access_request_id: id, claimed_at } = referenceItem.parse(outcome.found ?? {});
  if (id === access_request_id) return;
  if (Date.parse(claimed_at) < clock.now().getTime() - finishedWithin) {
    const [request, access] = await readItems([accessRequestItem(id), accessItem(id, account_id)]);
    const isMade = request && (access || request.creator_revoked_at !== undefined);
    if (!isMade) outcome = await claim({ access_request_id: { is: id } });
    if (outcome.done) return;
  }
  throw new ServiceError('conflict', `The access request ${id} has this reference.`);
}
