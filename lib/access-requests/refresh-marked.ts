import { timestamp } from '../foundation/clock.ts';
import { logFailure } from '../log/log.ts';
import { timeLimit } from '../storage/batches.ts';
import { type Item, keyOf } from '../storage/items.ts';
import { markedAccessRequestsList } from '../storage/keys.ts';
import { readGlobalList, readMembers } from '../storage/lists.ts';
import { retryOnConflict } from '../storage/retry-on-conflict.ts';
import { type AccessRequest, readAccesses } from './access-request.ts';
import { idOf, markItem, refreshLists } from './account-lists.ts';

/** Milliseconds after which a call leaves the rest to the next one. */
const longest = 40_000;

/**
 * Brings the lists of all accounts up to date about marked access requests: stores decisions that have expired or that a
 * crash has left open, and removes needless marks. One account's failure is logged, and does not stop the others.
 * @returns how many accounts failed
 */
export async function refreshMarked(): Promise<{ failed: number }> {
  const hasTime = timeLimit(longest);
  const now = timestamp();
  let failed = 0;
  let start: Item | undefined;
  do {
    const page = { limit: 100, start, order: 'ascending' } as const;
    const { items, next } = await readGlobalList('by_list', markedAccessRequestsList, page);
    const due = items.filter(({ list_position }) => String(list_position) <= now);
    const marks = (await readMembers(due.map(keyOf))).map(markItem.parse);
    for (const [accountId, ofAccount] of Map.groupBy(marks, ({ account_id }) => account_id))
      try {
        await refreshLists(accountId, ofAccount.map(idOf), ofAccount);
      } catch (error) {
        failed += 1;
        logFailure('lists_not_refreshed', error, { account_id: accountId });
      }
    start = due.length < items.length ? undefined : next;
  } while (start && hasTime());
  return { failed };
}

/** Puts access requests into the lists of the accounts that have access: those of a version that knew no lists. */
export async function indexAccessRequests(requests: AccessRequest[]): Promise<void> {
  const pairs = await Promise.all(
    requests.map(async ({ access_request_id: id }) =>
      (await readAccesses(id)).map(({ account_id }) => ({ id, account_id })),
    ),
  );
  for (const [accountId, ofAccount] of Map.groupBy(pairs.flat(), ({ account_id }) => account_id)) {
    const ids = ofAccount.map(({ id }) => id);
    const message = "Others are changing an account's lists; run it again.";
    await retryOnConflict(async () => (await refreshLists(accountId, ids)) || undefined, message);
  }
}
