import { isDeepStrictEqual } from 'node:util';
import { timestamp } from '../foundation/clock.ts';
import { logFailure } from '../log/log.ts';
import { forEachInBatches, retryOnConflict, timeLimit } from '../storage/batches.ts';
import { putItem, readItems } from '../storage/items.ts';
import { dueAccessRequestsShard } from '../storage/keys.ts';
import { readGlobalPages, readMembers } from '../storage/lists.ts';
import { put, type TransactionWrite, update, writeTogether } from '../storage/transactions.ts';
import { type AccessRequest, accessRequestItem } from './access-request.ts';
import { type Access, readAccesses } from './accesses.ts';
import { entryItem, entryOf } from './account-lists.ts';
import { currentOf, isPending } from './decision.ts';

/** The most writes of a transaction. */
const mostWrites = 100;

/**
 * Stores what reviews or its expiry have made of an access request, with its entries in the lists
 * of accounts, unless somebody has changed the access request or who has access since it was read.
 * @param more writes that belong to it
 * @param relisted the accesses whose entries are written; by default all of them if it is decided
 *   now, and else none
 * @returns the access request as it is stored now, or the one that somebody else has stored
 */
export async function storeResult(
  before: AccessRequest,
  after: AccessRequest,
  more: TransactionWrite[] = [],
  relisted?: Access[],
): Promise<{ done: boolean; request: AccessRequest }> {
  const { access_request_id: id, revision } = before;
  const { decision, decided_at, approvers, reviews_counted } = after;
  const isDecided = decision !== before.decision;
  const accesses = relisted ?? (isDecided ? await readAccesses(id) : []);
  const entries = accesses.map(({ account_id }) => entryItem(account_id, id));
  const change = update(accessRequestItem(id), {
    set: { decision, decided_at, approvers, reviews_counted },
    remove: isDecided ? ['shard', 'shard_position'] : [],
    count: { revision: { by: 1 } },
    when: { pk: { exists: true }, revision: { is: revision } },
  });
  const writes = [...more, change];
  const together = entries.splice(0, mostWrites - writes.length);
  const entry = entryOf(after);
  const outcome = await writeTogether([...writes, ...together.map((key) => put(key, entry))]);
  if (!outcome.done) {
    const found = outcome.refused.get(change);
    return { done: false, request: found ? accessRequestItem.parse(found) : before };
  }
  // An older version gave more accounts access than a transaction has writes. The index command
  // repairs what a crash leaves.
  await forEachInBatches(entries, (key) => putItem(key, entry));
  return { done: true, request: { ...after, revision: (revision ?? 0) + 1 } };
}

/**
 * Stores the decisions of access requests that have expired, for 40 s. One that fails is logged,
 * and does not stop the others.
 * @throws Error in the end when some failed
 */
export async function settleExpired(): Promise<void> {
  const hasTime = timeLimit(40_000);
  let failed = 0;
  const settle = async (request: AccessRequest) => {
    try {
      const current = await currentOf(request);
      // Somebody who was faster has settled it.
      if (!isPending(current)) await storeResult(request, current);
    } catch (error) {
      failed += 1;
      logFailure('expiry_not_stored', error, { access_request_id: request.access_request_id });
    }
  };
  for await (const items of readGlobalPages('by_shard', dueAccessRequestsShard, 100, timestamp())) {
    const requests = (await readMembers(items)).map(accessRequestItem.parse);
    if (!(await forEachInBatches(requests.filter(isPending), settle, hasTime))) break;
  }
  if (failed > 0) throw new Error(`The expiry of ${failed} access requests could not be stored.`);
}

/**
 * Puts an access request into the lists of the accounts to which 1.0.0 gave access, and counts
 * reviews that it added.
 */
export async function listAgain(found: AccessRequest): Promise<void> {
  let request = found;
  const listOnce = async () => {
    const { access_request_id: id } = request;
    const [current, accesses] = await Promise.all([currentOf(request), readAccesses(id)]);
    const entries = await readItems(accesses.map(({ account_id }) => entryItem(account_id, id)));
    const entry = entryOf(current);
    const isListed = entries.every((stored) => isDeepStrictEqual(stored, entry));
    if (isListed && current === request) return true;
    const stored = await storeResult(request, current, [], accesses);
    request = stored.request;
    return stored.done || undefined;
  };
  await retryOnConflict(listOnce, 'Others keep changing an access request; run it again.');
}
