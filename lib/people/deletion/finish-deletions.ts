import { clock } from '../../foundation/clock.ts';
import { idsAmong } from '../../log/audit.ts';
import { logAudit, logFailure } from '../../log/log.ts';
import { timeLimit } from '../../storage/batches.ts';
import { deleteItem, type Item, keyOf } from '../../storage/items.ts';
import { deletionKey, unfinishedList } from '../../storage/keys.ts';
import { readListInOrder, readMembers } from '../../storage/lists.ts';
import { type DeletionMark, deleteLoginUser, deletionItem, hasBegun } from './delete-login-user.ts';

/** Milliseconds after which nobody works on something any longer: every function has been stopped long before. */
const underWayFor = 600_000;

/**
 * Finishes the deletions of people that were interrupted more than ten minutes ago. Takes a few seconds; the next call
 * goes on. One that fails does not stop the others, and comes last from then on, since whoever tries it marks it anew.
 * Each of them has an audit line.
 * @returns what was finished, what failed and was logged, and whether it got to the end
 */
export async function finishDeletions(by: { caller: 'schedule' } | { caller: 'operator'; operator: string }) {
  const writeAuditLine = (mark: DeletionMark, result: 'done' | 'failed') =>
    logAudit({ ...by, command: 'login-users finish-deletions', ...idsAmong(mark), result });
  const outcome = { loginUsers: 0, failed: 0 };
  const hasTime = timeLimit();
  for await (const marks of readInterrupted()) {
    for (const mark of marks) {
      if (!hasTime()) return { ...outcome, isAll: false };
      try {
        if (!(await finish(mark))) continue;
        outcome.loginUsers += 1;
        writeAuditLine(mark, 'done');
      } catch (error) {
        outcome.failed += 1;
        writeAuditLine(mark, 'failed');
        logFailure('deletion_not_finished', error, { login_user_id: mark.login_user_id });
      }
    }
  }
  return { ...outcome, isAll: true };
}

/** Finishes the deletion that a mark leads to. False when there was nothing to remove but the mark. */
async function finish({ login_user_id, by, list_position }: DeletionMark): Promise<boolean> {
  if (await hasBegun(login_user_id)) return (await deleteLoginUser(login_user_id, by)) !== undefined;
  // It never began, unless somebody has marked it again since.
  await deleteItem(deletionKey(login_user_id), { list_position: { is: list_position } });
  return false;
}

/** Pages of the marks that are older than ten minutes, the oldest first: of deletions that were interrupted. */
async function* readInterrupted(): AsyncGenerator<DeletionMark[]> {
  const latest = new Date(clock.now().getTime() - underWayFor).toISOString();
  let start: Item | undefined;
  do {
    const { keys, next } = await readListInOrder(unfinishedList, { limit: 100, start });
    const items = await readMembers(keys);
    const interrupted = items.filter(({ list_position }) => String(list_position) <= latest);
    // 1.0.0 marked links, too. What one of them has left goes with the next link, unlink or deletion.
    const ofLinks = interrupted.filter(({ identity_id }) => identity_id !== undefined);
    await Promise.all(ofLinks.map((item) => deleteItem(keyOf(item))));
    yield interrupted.filter((item) => !ofLinks.includes(item)).map(deletionItem.parse);
    start = interrupted.length < items.length ? undefined : next;
  } while (start);
}
