import { forEachInBatches, timeLimit } from '../storage/batches.ts';
import { deleteItem, type Item, keyOf } from '../storage/items.ts';
import { accessRequestsOfAccountList, accountKey, accountPartition } from '../storage/keys.ts';
import { readListInOrder, readMembers, readPartitionPages } from '../storage/lists.ts';
import { setAccountDisabled } from './account.ts';

/**
 * Deletes an account with its accesses, in steps of a few seconds. Disables it first; the account itself goes last, so
 * that an interrupted step can be done again. Its access requests and what it wrote stay. An access that the index does
 * not show yet stays as well; no account can use it.
 * @returns the outcome of one step, with `again_after_seconds` when more is left to remove
 */
export async function deleteAccount(accountId: string) {
  await setAccountDisabled(accountId, true);
  const hasTime = timeLimit();
  let accesses = 0;
  let start: Item | undefined;
  do {
    const list = accessRequestsOfAccountList(accountId);
    const { keys, next } = await readListInOrder(list, { limit: 100, start });
    const items = await readMembers(keys);
    await forEachInBatches(items, remove);
    accesses += items.length;
    start = next;
  } while (start && hasTime());
  const unfinished = { deleted: false, removed: { accesses }, again_after_seconds: 0 };
  if (start) return unfinished;
  const root = accountKey(accountId);
  for await (const page of readPartitionPages(accountPartition(accountId))) {
    const others = page.filter(({ sk }) => sk !== root.sk);
    let isAll = true;
    await forEachInBatches(others, async (item) => {
      if (hasTime()) await remove(item);
      else isAll = false;
    });
    if (!isAll) return unfinished;
  }
  await deleteItem(root);
  return { deleted: true, removed: { accesses } };
}

const remove = (item: Item): Promise<void> => deleteItem(keyOf(item));
