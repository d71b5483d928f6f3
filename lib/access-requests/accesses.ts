import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { retryOnConflict } from '../storage/batches.ts';
import { deleteItem, type ItemOf, itemKind, putItem, readItem } from '../storage/items.ts';
import * as keys from '../storage/keys.ts';
import { readPartition } from '../storage/lists.ts';
import {
  put,
  remove,
  type TransactionWrite,
  update,
  writeTogether,
} from '../storage/transactions.ts';
import { type AccessRequest, accessRequestItem } from './access-request.ts';
import { entryItem, entryOf } from './account-lists.ts';

/**
 * The most accounts that have access to an access request: the transaction that decides it writes
 * an entry for each.
 */
const mostAccounts = 50;

export const accessItem = itemKind(
  v.object({
    access_request_id: v.number(),
    account_id: v.string(),
    granted_at: v.string(),
    /** Whether a decision is computed for the access request. Absent if 1.0.0 gave the access. */
    is_decided: v.optional(v.boolean()),
    /** The Login App of a probe, and epoch seconds until which it is in use. */
    login_app_id: v.optional(v.string()),
    used_until: v.optional(v.number()),
  }),
  keys.accessKey,
);

export type Access = ItemOf<typeof accessItem>;

/**
 * Checks an account's access. Nothing of the access request is read before, so that the access
 * request of others costs as much as one that does not exist.
 * @throws ServiceError `forbidden`, also when there is no such access request
 */
export async function requireAccess(accountId: string, id: number): Promise<Access> {
  const access = await readItem(accessItem(id, accountId));
  if (access) return access;
  throw new ServiceError('forbidden', 'The account has no access to this access request.');
}

export async function readAccesses(id: number): Promise<Access[]> {
  const items = await readPartition(keys.accessRequestPartition(id), keys.accessPrefix);
  return items.map(accessItem.parse);
}

const accessOf = (id: number, accountId: string) => ({
  account_id: accountId,
  access_request_id: id,
  granted_at: timestamp(),
  list: keys.accessRequestsOfAccountList(accountId),
  list_position: keys.ordinalIn('ACCESS_REQUEST', id),
});

/**
 * Gives the account of a probe access to an access request that does not exist. So it gets no entry
 * in the account's lists.
 */
export const putProbeAccess = (
  id: number,
  accountId: string,
  more: Partial<Access> & { expires_at: number },
) => putItem(accessItem(id, accountId), { ...accessOf(id, accountId), ...more });

export const deleteProbeAccess = (id: number, accountId: string) =>
  deleteItem(accessItem(id, accountId));

/** The writes that give an account access and put the access request into the account's lists. */
export function accessWrites(request: AccessRequest, accountId: string): TransactionWrite[] {
  const { access_request_id: id, approvals_needed } = request;
  const isDecided = approvals_needed !== undefined;
  const access = { ...accessOf(id, accountId), is_decided: isDecided };
  const entry = entryOf(request);
  return [put(accessItem(id, accountId), access), put(entryItem(accountId, id), entry)];
}

/**
 * Gives an account access to an access request.
 * @throws ServiceError `conflict` when as many other accounts as may have access have it
 */
export async function grantAccess(found: AccessRequest, accountId: string): Promise<void> {
  const { access_request_id: id } = found;
  let request = found;
  const grantOnce = async () => {
    const accesses = await readAccesses(id);
    const isKnown = accesses.some(({ account_id }) => account_id === accountId);
    if (!isKnown && accesses.length >= mostAccounts) throw tooManyAccounts();

    // The revision counts this access, too: somebody who decides the access request or gives access
    // to it at the same time has not read this one, and reads again.
    const countChange = update(accessRequestItem(id), {
      count: { revision: { by: 1 } },
      when: { pk: { exists: true }, revision: { is: request.revision } },
    });
    const outcome = await writeTogether([countChange, ...accessWrites(request, accountId)]);
    if (outcome.done) return true;
    request = accessRequestItem.parse(outcome.refused.get(countChange) ?? {});
    return undefined;
  };
  await retryOnConflict(grantOnce, 'Others keep changing the access request.');
}

const tooManyAccounts = () =>
  new ServiceError(
    'conflict',
    `The access request has the ${mostAccounts} accounts that it can have; access-requests revoke takes one away.`,
  );

/**
 * Takes the access away from an account. If it created the access request, the time is stored, so
 * that a repeated creation does not give the access back.
 */
export function revokeAccess(request: AccessRequest, accountId: string) {
  const isCreator = request.account_id === accountId;
  const set = isCreator ? { creator_revoked_at: timestamp() } : {};
  return removeAccess(request.access_request_id, accountId, set);
}

/**
 * Removes an access and the entry in the account's lists.
 * @param set attributes of the access request that change with it
 */
export function removeAccess(id: number, accountId: string, set: Partial<AccessRequest> = {}) {
  const change = update(accessRequestItem(id), {
    set,
    count: { revision: { by: 1 } },
    when: { pk: { exists: true } },
  });
  return writeTogether([
    change,
    remove(accessItem(id, accountId)),
    remove(entryItem(accountId, id)),
  ]);
}
