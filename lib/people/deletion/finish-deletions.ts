import * as v from 'valibot';
import { ago } from '../../foundation/clock.ts';
import { logAudit, logFailure } from '../../log/log.ts';
import { idsAmong } from '../../log/request-fields.ts';
import { loginUserItem } from '../../login-users/login-user.ts';
import { timeLimit } from '../../storage/batches.ts';
import { deleteItem, type Item, readItem } from '../../storage/items.ts';
import { unfinishedList, unfinishedMergesList } from '../../storage/keys.ts';
import { readMemberPages } from '../../storage/lists.ts';
import { finishMerge } from '../merge/finish-merge.ts';
import { pendingMergeItem } from '../merge/pending-merge.ts';
import { beginnerOf, deleteLoginUser, deletionItem } from './delete-login-user.ts';
import { removeLeftoverLink } from './leftover-link.ts';

/** Milliseconds after which no function can still be working on a deletion. */
const underWayFor = 600_000;

/**
 * Finishes deletions that were interrupted more than ten minutes ago, for a few seconds; the next
 * call goes on. One that fails becomes pending anew, so it comes last. Links that 1.0.0 did not finish
 * are removed, too. So are what merges have left, and the sessions of guests who were merged.
 */
export async function finishDeletions(
  by: { caller: 'schedule' } | { caller: 'operator'; operator: string },
) {
  const writeAuditLine = (pending: Item, result: 'done' | 'failed') =>
    logAudit({ ...by, command: 'login-users finish-deletions', ...idsAmong(pending), result });
  const finished = { login_users: 0, links: 0, merges: 0 };
  let failed = 0;
  let isAll = true;
  const hasTime = timeLimit();
  for await (const pending of readInterrupted()) {
    isAll = hasTime();
    if (!isAll) break;
    try {
      const kind = await finish(pending);
      if (kind === undefined) continue;
      finished[kind] += 1;
      writeAuditLine(pending, 'done');
    } catch (error) {
      failed += 1;
      writeAuditLine(pending, 'failed');
      logFailure('deletion_not_finished', error, { login_user_id: String(pending.login_user_id) });
    }
  }
  const { merges, ...removed } = finished;
  return {
    deleted: isAll && failed === 0,
    removed,
    merges_finished: merges || undefined,
    not_finished: failed || undefined,
    again_after_seconds: isAll ? undefined : 0,
  };
}

async function* readInterrupted(): AsyncGenerator<Item> {
  for (const list of [unfinishedList, unfinishedMergesList])
    for await (const interrupted of readMemberPages(list, ago(underWayFor))) yield* interrupted;
}

/** A pending link, which 1.0.0 wrote before it made the link, and removed after it. */
const pendingLinkSchema = v.object({ login_user_id: v.string(), identity_id: v.string() });

/**
 * Finishes what a pending item leads to.
 * @returns what was removed; undefined when there was only the item itself
 */
async function finish(pending: Item): Promise<'login_users' | 'links' | 'merges' | undefined> {
  if (pending.merged_into !== undefined) {
    await finishMerge(pendingMergeItem.parse(pending));
    return 'merges';
  }
  if (pending.identity_id !== undefined) {
    const isLeftover = await removeLeftoverLink(v.parse(pendingLinkSchema, pending));
    await deleteItem(pending);
    return isLeftover ? 'links' : undefined;
  }

  const deletion = deletionItem.parse(pending);
  const { login_user_id } = deletion;
  const person = await readItem(loginUserItem(login_user_id));
  if (person?.deleted_at !== undefined) {
    const deleted = await deleteLoginUser(login_user_id, beginnerOf(deletion));
    return deleted && 'login_users';
  }
  // 1.0.0 wrote the item before it began. It goes, unless somebody has written another since.
  await deleteItem(pending, { list_position: { is: String(pending.list_position) } });
  return undefined;
}
