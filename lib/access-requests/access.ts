import { timestamp } from '../clock.ts';
import { ServiceError } from '../service-error.ts';
import { deleteItem, putItem, readItem } from '../storage/items.ts';
import { accessKey } from '../storage/keys.ts';

/**
 * Checks an account's access, before anything else of the access request is read. The access of one account is an item
 * of its own: an access request that does not exist and one that belongs to others cost the same read, of nothing.
 * @throws ServiceError `forbidden`, also when there is no such access request
 */
export async function requireAccess(accountId: string, accessRequestId: number): Promise<void> {
  if (!(await readItem(accessKey(accessRequestId, accountId)))) {
    throw new ServiceError('forbidden', 'The account has no access to this access request.');
  }
}

export const grantAccess = (accessRequestId: number, accountId: string): Promise<void> =>
  putItem({
    ...accessKey(accessRequestId, accountId),
    account_id: accountId,
    access_request_id: accessRequestId,
    granted_at: timestamp(),
  });

export const revokeAccess = (accessRequestId: number, accountId: string): Promise<void> =>
  deleteItem(accessKey(accessRequestId, accountId));
