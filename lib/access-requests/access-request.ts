import { setTimeout as wait } from 'node:timers/promises';
import * as v from 'valibot';
import { timestamp } from '../clock.ts';
import { ServiceError } from '../errors/service-error.ts';
import { putNewItem, readItem } from '../storage/items.ts';
import { accessRequestKey, accessRequestsList, ordinalIn, ordinalOf } from '../storage/keys.ts';
import { readLastOfGlobalList } from '../storage/lists.ts';
import { grantAccess } from './access.ts';

const accessRequestItem = v.object({
  access_request_id: v.number(),
  /** The account that created it, or that the operator created it for. */
  account_id: v.string(),
  /** The ARN of the operator who created it, if one did. */
  operator: v.optional(v.string()),
  created_at: v.string(),
});

/** Something that asks for approval; its events are comments and reviews. */
export type AccessRequest = v.InferOutput<typeof accessRequestItem>;

/** Milliseconds after which a writer gives up when others are always faster. A function has 10 s. */
const patience = 8_000;
/** Milliseconds, at most, before another id is tried. */
const longestPause = 20;
/** How many ids are tried before the index is asked for the last one again. */
const mostProbes = 8;

/**
 * Creates an access request, then gives the account access: two writes. Ids are 1, 2, 3 … A crash between the two
 * leaves an access request that nobody has access to, and whose id was never returned.
 * @param operator the ARN of the operator who creates it for the account
 * @throws ServiceError `temporarily_unavailable` after 8 s of others being faster
 */
export async function createAccessRequest(accountId: string, operator?: string): Promise<AccessRequest> {
  const made = await putAccessRequest(accountId, { operator });
  await grantAccess(made.access_request_id, accountId);
  return made;
}

/**
 * The same without giving the account access.
 * @param after an id below which no free one is left, from whoever has just created that one
 */
export async function putAccessRequest(
  accountId: string,
  {
    operator,
    created_at = timestamp(),
    after,
  }: { operator?: string | undefined; created_at?: string | undefined; after?: number | undefined },
): Promise<AccessRequest> {
  const giveUpAt = performance.now() + patience;
  let id = 0;
  for (let attempt = 0; performance.now() < giveUpAt; attempt += 1) {
    // The index may lag behind: it says where to look for a free id, and the write decides whether one is free.
    if (attempt % mostProbes === 0) {
      id = attempt === 0 && after !== undefined ? after + 1 : Math.max(id, (await lastKnownId()) + 1);
    }
    const item = {
      access_request_id: id,
      account_id: accountId,
      ...(operator !== undefined && { operator }),
      created_at,
    };
    const outcome = await putNewItem<AccessRequest>({
      ...accessRequestKey(id),
      ...item,
      list: accessRequestsList,
      list_position: ordinalIn('ACCESS_REQUEST', id),
    });
    if (outcome === 'put') return item;
    id += 1;
    await wait(Math.random() * longestPause);
  }
  throw new ServiceError(
    'temporarily_unavailable',
    'Too many access requests are created at once. Try again.',
  );
}

async function lastKnownId(): Promise<number> {
  const position = (await readLastOfGlobalList('by_list', accessRequestsList))?.list_position;
  return typeof position === 'string' ? ordinalOf(position) : 0;
}

export async function readAccessRequest(id: number): Promise<AccessRequest | undefined> {
  const item = await readItem(accessRequestKey(id));
  return item && v.parse(accessRequestItem, item);
}
