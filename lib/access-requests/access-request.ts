// Access requests, their events, the accounts that work with them, and the search at flat cost. It knows nothing of
// people who log in. It calls the storage and the secrets.

import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { putNewItem, readItem, updateItem } from '../storage/items.ts';
import { accessRequestKey, accessRequestsList, ordinalIn } from '../storage/keys.ts';
import { grantAccess, revokeAccess } from './access.ts';
import { skipUsedIds, takeIds } from './access-request-ids.ts';

const accessRequestItem = v.object({
  access_request_id: v.number(),
  /** The account that created it, or that the operator created it for. */
  account_id: v.string(),
  /** The ARN of the operator who created it, if one did. */
  operator: v.optional(v.string()),
  created_at: v.string(),
});

/** An access request as its creation reads it again. */
export const storedAccessRequestItem = v.object({
  ...accessRequestItem.entries,
  /** The time at which the operator took the creator's access away, so that a repeated creation doesn't give it back. */
  creator_revoked_at: v.optional(v.string()),
});

/** Something that asks for approval; its events are comments and reviews. */
export type AccessRequest = v.InferOutput<typeof accessRequestItem>;

/**
 * Creates an access request, then gives the account access: two writes, after the one that takes the id. A crash in
 * between leaves an access request that nobody has access to, and whose id was never returned.
 * @param operator the ARN of the operator who creates it for the account
 * @throws ServiceError `temporarily_unavailable` when others took all ids that were tried
 */
export async function createAccessRequest(accountId: string, operator?: string): Promise<AccessRequest> {
  const made = await createWithoutAccess({ account_id: accountId, operator, created_at: timestamp() });
  await grantAccess(made.access_request_id, accountId);
  return made;
}

/**
 * Creates an access request that no account has access to yet.
 * @param takenId the id to begin with, which the caller has taken
 * @throws ServiceError `temporarily_unavailable` when others took all ids that were tried
 */
export function createWithoutAccess(content: Omit<AccessRequest, 'access_request_id'>, takenId?: number) {
  return untilFree(takenId, async (access_request_id) => {
    const made = { access_request_id, ...content };
    return (await putAccessRequest(made)) === 'put' ? made : undefined;
  });
}

/** The most ids that are tried. */
const mostAttempts = 8;

/**
 * Uses an id. When another access request has it, the next one is tried: only a version of the service that has no counter,
 * while it runs beside this one, takes an id away.
 * @param use returns undefined when the id belongs to another access request
 * @throws ServiceError `temporarily_unavailable`
 */
export async function untilFree<Made>(
  takenId: number | undefined,
  use: (id: number) => Promise<Made | undefined>,
): Promise<Made> {
  let id = takenId ?? (await takeIds(1));
  for (let attempt = 1; attempt <= mostAttempts; attempt += 1) {
    const made = await use(id);
    if (made !== undefined) return made;
    await skipUsedIds();
    id = await takeIds(1);
  }
  throw new ServiceError(
    'temporarily_unavailable',
    'Too many access requests are created at once. Try again.',
  );
}

/** Writes an access request under its id; `exists` when there is one already. */
export const putAccessRequest = ({ operator, ...item }: AccessRequest): Promise<'put' | 'exists'> =>
  putNewItem<AccessRequest>({
    ...accessRequestKey(item.access_request_id),
    ...item,
    ...(operator !== undefined && { operator }),
    list: accessRequestsList,
    list_position: ordinalIn('ACCESS_REQUEST', item.access_request_id),
  });

export async function readAccessRequest(id: number): Promise<AccessRequest | undefined> {
  const item = await readItem(accessRequestKey(id));
  return item && v.parse(accessRequestItem, item);
}

/** Takes the access away from an account. The access request remembers when that is its creator. */
export async function revokeAccessTo(
  { access_request_id: id, account_id }: AccessRequest,
  accountId: string,
): Promise<void> {
  if (account_id === accountId) {
    await updateItem<v.InferOutput<typeof storedAccessRequestItem>>(accessRequestKey(id), {
      set: { creator_revoked_at: timestamp() },
    });
  }
  await revokeAccess(id, accountId);
}
