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
 * Stores an access request that reviews or its expiry have changed, together with its entries in
 * the lists of accounts. Nothing is stored if somebody has changed the access request, or who has
 * access to it, since it was read.
 * @param more writes that belong to it
 * @param relisted the accesses whose entries are written; by default all of them if it is decided
 *   now, and otherwise none
 * @returns the access request as it is stored now, or as somebody else has stored it
 */
export async function storeDecision(
  before: AccessRequest,
  after: AccessRequest,
  more: TransactionWrite[] = [],
  relisted?: Access[],
): Promise<{ done: boolean; request: AccessRequest }> {
  const { access_request_id: id, revision = 0 } = before;
  const isDecided = after.decision !== before.decision;
  const change = update(accessRequestItem(id), {
    set: {
      decision: after.decision,
      decided_at: after.decided_at,
      approvers: after.approvers,
      reviews_counted: after.reviews_counted,
    },
    // A decided access request leaves the list of those that are going to expire.
    remove: isDecided ? ['shard', 'shard_position'] : [],
    count: { revision: { by: 1 } },
    when: { pk: { exists: true }, revision: { is: before.revision } },
  });
  const writes = [...more, change];

  const accesses = relisted ?? (isDecided ? await readAccesses(id) : []);
  const keys = accesses.map(({ account_id }) => entryItem(account_id, id));
  const entry = entryOf(after);
  const mostEntries = mostWrites - writes.length;
  const entryWrites = keys.slice(0, mostEntries).map((key) => put(key, entry));

  const outcome = await writeTogether([...writes, ...entryWrites]);
  if (!outcome.done) {
    const found = outcome.refused.get(change);
    return { done: false, request: found ? accessRequestItem.parse(found) : before };
  }
  // An older version gave more accounts access than a transaction has writes. After a crash here,
  // the operator's index command writes the entries that are missing.
  await forEachInBatches(keys.slice(mostEntries), (key) => putItem(key, entry));
  return { done: true, request: { ...after, revision: revision + 1 } };
}

/** Milliseconds for which expired access requests are settled. */
const settlingTime = 40_000;
/** How many of them are read at once. */
const settlingPage = 100;

/**
 * Stores the decisions of access requests that have expired, for 40 s. A failure is logged and does
 * not stop the others.
 * @throws Error in the end when some failed
 */
export async function settleExpired(): Promise<void> {
  const hasTime = timeLimit(settlingTime);
  let failed = 0;
  const settle = async (request: AccessRequest) => {
    try {
      // Its time has come, so it is not pending any longer: its reviews or its expiry decide it.
      const current = await currentOf(request);
      await storeDecision(request, current);
    } catch (error) {
      failed += 1;
      logFailure('expiry_not_stored', error, { access_request_id: request.access_request_id });
    }
  };

  const now = timestamp();
  const pages = readGlobalPages('by_shard', dueAccessRequestsShard, settlingPage, now);
  for await (const items of pages) {
    // The index lags behind the table: some of them may be decided already.
    const requests = (await readMembers(items)).map(accessRequestItem.parse);
    const pending = requests.filter(isPending);
    const isDone = await forEachInBatches(pending, settle, hasTime);
    if (!isDone) break;
  }
  if (failed > 0) throw new Error(`The expiry of ${failed} access requests could not be stored.`);
}

/**
 * Puts an access request into the lists of the accounts to which 1.0.0 gave access, and counts
 * reviews that 1.0.0 added.
 */
export async function listAgain(found: AccessRequest): Promise<void> {
  const { access_request_id: id } = found;
  let request = found;
  const listOnce = async () => {
    const [current, accesses] = await Promise.all([currentOf(request), readAccesses(id)]);
    const keys = accesses.map(({ account_id }) => entryItem(account_id, id));
    const stored = await readItems(keys);
    const entry = entryOf(current);
    const isListed = stored.every((one) => isDeepStrictEqual(one, entry));
    if (isListed && current === request) return true;

    const outcome = await storeDecision(request, current, [], accesses);
    request = outcome.request;
    return outcome.done || undefined;
  };
  await retryOnConflict(listOnce, 'Others keep changing an access request.');
}
