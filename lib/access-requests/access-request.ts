import { setTimeout as wait } from 'node:timers/promises';
import * as v from 'valibot';
import { timestamp } from '../clock.ts';
import { Refusal } from '../refusal.ts';
import { putNewItem, readItem, updateItem } from '../storage/items.ts';
import { accessRequestKey, accessRequestsList, ordinalIn, ordinalOf } from '../storage/keys.ts';
import { readLastOfGlobalList } from '../storage/lists.ts';

const accessRequest = v.object({
  access_request_id: v.number(),
  /** The accounts that have access. */
  account_ids: v.optional(v.set(v.string())),
  created_at: v.string(),
});

/** Something that asks for approval; its events are comments and reviews. */
type AccessRequest = v.InferOutput<typeof accessRequest>;

/** Milliseconds after which a writer gives up when others are always faster. A function has 10 s. */
const patience = 8_000;
/** Milliseconds, at most, before another id is tried. */
const longestPause = 20;
/** How many ids are tried before the index is asked for the last one again. */
const mostProbes = 8;

/**
 * Creates an access request and gives the account access: one write. Ids are 1, 2, 3 …
 * @throws Refusal `temporarily_unavailable` after 8 s of others being faster
 */
export async function createAccessRequest(accountId: string): Promise<AccessRequest> {
  const created_at = timestamp();
  const giveUpAt = performance.now() + patience;
  let id = 0;
  for (let attempt = 0; performance.now() < giveUpAt; attempt += 1) {
    // The index may lag behind: it says where to look for a free id, and the write decides whether one is free.
    if (attempt % mostProbes === 0) id = Math.max(id, (await lastKnownId()) + 1);
    const item = { access_request_id: id, account_ids: new Set([accountId]), created_at };
    const outcome = await putNewItem({
      ...accessRequestKey(id),
      ...item,
      list: accessRequestsList,
      list_position: ordinalIn('ACCESS_REQUEST', id),
    });
    if (outcome === 'put') return item;
    id += 1;
    await wait(Math.random() * longestPause);
  }
  throw new Refusal('temporarily_unavailable', 'Too many access requests are created at once. Try again.');
}

async function lastKnownId(): Promise<number> {
  const position = (await readLastOfGlobalList('by_list', accessRequestsList))?.list_position;
  return typeof position === 'string' ? ordinalOf(position) : 0;
}

export async function readAccessRequest(id: number): Promise<AccessRequest | undefined> {
  const item = await readItem(accessRequestKey(id));
  return item && v.parse(accessRequest, item);
}

/** Whether an account has access. No account has access to an unknown access request. */
export async function hasAccess(accountId: string, accessRequestId: number): Promise<boolean> {
  return (await readAccessRequest(accessRequestId))?.account_ids?.has(accountId) ?? false;
}

/** False when there is no such access request. */
export async function grantAccess(accessRequestId: number, accountId: string): Promise<boolean> {
  const update = await updateItem(accessRequestKey(accessRequestId), {
    add: { account_ids: new Set([accountId]) },
    when: { pk: { exists: true } },
  });
  return update.done;
}

/** False when there is no such access request. */
export async function revokeAccess(accessRequestId: number, accountId: string): Promise<boolean> {
  const update = await updateItem(accessRequestKey(accessRequestId), {
    take: { account_ids: new Set([accountId]) },
    when: { pk: { exists: true } },
  });
  return update.done;
}
