import { idsAmong } from '../../log/audit.ts';
import { logAudit, logFailure } from '../../log/log.ts';
import { timeLimit } from '../../storage/batches.ts';
import { finishLink } from '../identities/finish-link.ts';
import { type DeletionMark, dropDeletionMark, type LinkMark, readInterrupted } from '../unfinished.ts';
import { deleteLoginUser, hasBegun } from './delete-login-user.ts';

/**
 * Finishes the deletions of people that were interrupted more than ten minutes ago, and removes what interrupted links
 * have left. Takes a few seconds; the next call goes on. One that fails does not stop the others, and a deletion that
 * fails comes last from then on, since whoever tries it marks it anew.
 * Each of them has an audit line.
 * @returns what was finished, what failed and was logged, and whether it got to the end
 */
export async function finishDeletions(by: { caller: 'schedule' } | { caller: 'operator'; operator: string }) {
  const writeAuditLine = (mark: DeletionMark | LinkMark, result: 'done' | 'failed') =>
    logAudit({ ...by, command: 'login-users finish-deletions', ...idsAmong(mark), result });
  const outcome = { loginUsers: 0, links: 0, failed: 0 };
  const hasTime = timeLimit();
  for await (const marks of readInterrupted()) {
    for (const mark of marks) {
      if (!hasTime()) return { ...outcome, isAll: false };
      try {
        const finished = await finish(mark);
        if (!finished) continue;
        outcome[finished] += 1;
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

/** Finishes what a mark leads to. Undefined when there was nothing to remove but the mark. */
async function finish(mark: DeletionMark | LinkMark): Promise<'loginUsers' | 'links' | undefined> {
  if ('identity_id' in mark) return (await finishLink(mark)) ? 'links' : undefined;
  if (await hasBegun(mark.login_user_id))
    return (await deleteLoginUser(mark.login_user_id, mark.by)) && 'loginUsers';
  await dropDeletionMark(mark);
  return undefined;
}
