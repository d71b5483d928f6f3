import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { deleteItem, itemKind, putItem, readItem } from '../storage/items.ts';
import {
  accessKey,
  accessPrefix,
  accessRequestPartition,
  accessRequestsOfAccountList,
  ordinalIn,
} from '../storage/keys.ts';
import { readPartition } from '../storage/lists.ts';

/** The access of an account to an access request, as it is stored. */
export const accessItem = itemKind(
  v.object({
    access_request_id: v.number(),
    account_id: v.string(),
    granted_at: v.string(),
    /** The Login App of a probe, and epoch seconds until which it is in use. */
    login_app_id: v.optional(v.string()),
    used_until: v.optional(v.number()),
  }),
  accessKey,
);

/**
 * Checks an account's access, before anything else of the access request is read. The access of one account is an item
 * of its own: an access request that does not exist and one that belongs to others cost the same read, of nothing.
 * @throws ServiceError `forbidden`, also when there is no such access request
 */
export async function requireAccess(accountId: string, accessRequestId: number): Promise<void> {
  if (!(await readItem(accessItem(accessRequestId, accountId))))
    throw new ServiceError('forbidden', 'The account has no access to this access request.');
}

/** Gives an account access to an access request. @param more attributes that are stored with it */
export const grantAccess = (
  accessRequestId: number,
  accountId: string,
  more: { login_app_id?: string; used_until?: number; expires_at?: number } = {},
): Promise<boolean> =>
  putItem(accessItem(accessRequestId, accountId), {
    ...more,
    account_id: accountId,
    access_request_id: accessRequestId,
    granted_at: timestamp(),
    list: accessRequestsOfAccountList(accountId),
    list_position: ordinalIn('ACCESS_REQUEST', accessRequestId),
  });

export const revokeAccess = (accessRequestId: number, accountId: string): Promise<void> =>
  deleteItem(accessItem(accessRequestId, accountId));

/** Accounts that have access to an access request, each with the time since when. */
export async function readAccesses(accessRequestId: number) {
  const items = await readPartition(accessRequestPartition(accessRequestId), accessPrefix);
  return items.map((item) => {
    const { account_id, granted_at } = accessItem.parse(item);
    return { account_id, granted_at };
  });
}
