import { inTurns } from '../storage/in-turns.ts';
import { deleteItem, type Item } from '../storage/items.ts';
import { accessRequestsOfAccountList, accountKey, accountPartition } from '../storage/keys.ts';
import { readPartition } from '../storage/lists.ts';
import { readPage } from '../storage/pages.ts';
import { timeLimit } from '../storage/time-limit.ts';
import { setAccountDisabled } from './account.ts';

/** Outcome of one step of a deletion; `again_after_seconds` is there when more is left to remove. */
export interface AccountDeletionStep {
  deleted: boolean;
  removed: { accesses: number };
  again_after_seconds?: number;
}

/**
 * Deletes an account with its accesses, in steps of a few seconds. Disables it first; the account itself goes last, so
 * that an interrupted step can be done again. Its access requests and what it wrote stay. An access that the index does
 * not show yet stays as well; no account can use it.
 */
export async function deleteAccount(accountId: string): Promise<AccountDeletionStep> {
  await setAccountDisabled(accountId, true);
  const hasTime = timeLimit();
  let accesses = 0;
  let after: string | undefined;
  do {
    const { items, next } = await readPage(accessRequestsOfAccountList(accountId), after);
    await inTurns(items, remove);
    accesses += items.length;
    after = next;
  } while (after !== undefined && hasTime());
  if (after !== undefined) return { deleted: false, removed: { accesses }, again_after_seconds: 0 };
  const root = accountKey(accountId);
  const items = await readPartition(accountPartition(accountId));
  await inTurns(
    items.filter(({ sk }) => sk !== root.sk),
    remove,
  );
  await deleteItem(root);
  return { deleted: true, removed: { accesses } };
}

const remove = ({ pk, sk }: Item): Promise<void> => deleteItem({ pk: String(pk), sk: String(sk) });
