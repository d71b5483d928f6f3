import * as v from 'valibot';
import { endRelationsWhere } from '../../devices/relate-device.ts';
import { ago, timestamp } from '../../foundation/clock.ts';
import { logAudit, logEvent, logFailure } from '../../log/log.ts';
import { idsAmong } from '../../log/request-fields.ts';
import { identitiesIn } from '../../login-users/linked-identity.ts';
import { blockedError, listAttributes, loginUserItem, newIndexId } from '../../login-users/login-user.ts';
import { forEachInBatches, timeLimit } from '../../storage/batches.ts';
import { deleteItem, type ItemOf, itemKind, putItem, readItem, updateItem } from '../../storage/items.ts';
import { deletionKey, unfinishedList } from '../../storage/keys.ts';
import { readMemberPages } from '../../storage/lists.ts';
import { releaseExternalId, releaseIdentity } from '../identities/identity-index.ts';
import { isStoredToken, revokeStoredTokens } from '../identities/provider-tokens.ts';
import { isOpen, readSessions, sessionItem } from '../sessions/session.ts';

/** The mark of a deletion: written first and removed last, so it leads to interrupted ones. */
const deletionItem = itemKind(
  v.object({
    login_user_id: v.string(),
    by: v.picklist(['operator', 'person', 'provider']),
    list_position: v.string(),
  }),
  deletionKey,
);
type DeletionMark = ItemOf<typeof deletionItem>;

/**
 * Deletes a Login User: after the mark, the first write keeps them out, and the others remove what was theirs. An interrupted
 * deletion can be repeated, or the mark leads to it. The relation of a device that the index doesn't show yet ends by itself.
 * @param last a session that is removed last, so that its token can repeat what was interrupted
 * @param signal aborts the revocation of providers' tokens, for a caller who can't wait
 * @returns the numbers of what was removed, as the operator reads them; undefined when there was nothing to delete
 * @throws ServiceError `forbidden` for a blocked person, who could come back as somebody new, unless an operator asks
 */
export async function deleteLoginUser(
  loginUserId: string,
  by: DeletionMark['by'],
  last?: string,
  signal?: AbortSignal,
) {
  const mark = { login_user_id: loginUserId, by, list_position: timestamp() };
  await putItem(deletionItem(loginUserId), { ...mark, list: unfinishedList });
  const begun = await updateItem(loginUserItem(loginUserId), {
    setIfAbsent: { deleted_at: timestamp(), next_slot: newIndexId() },
    when: { created_at: { exists: true }, ...(by !== 'operator' && { blocked_at: { exists: false } }) },
  });
  const found = begun.done ? undefined : begun.found;
  if (found?.blocked_at !== undefined && found.deleted_at === undefined) {
    await deleteItem(deletionKey(loginUserId));
    throw blockedError('forbidden');
  }
  const isStored = begun.done || found?.created_at !== undefined;
  const sessions = await readSessions(loginUserId);
  const others = sessions.filter(({ session_id }) => session_id !== last);
  await forEachInBatches(others, ({ session_id }) => deleteItem(sessionItem(loginUserId, session_id)));
  const relations = await endRelationsWhere(loginUserId);
  const stored = isStored ? await removeWhatIsStored(loginUserId, signal) : nothingStored;
  if (last !== undefined) await deleteItem(sessionItem(loginUserId, last));
  await deleteItem(deletionKey(loginUserId));
  if (!isStored && sessions.length === 0 && relations === 0) return undefined;
  logEvent('login_user_deleted', { login_user_id: loginUserId, by });
  return {
    login_user_id: loginUserId,
    sessions_ended: sessions.filter(isOpen).length,
    removed: { sessions: sessions.length, device_relations: relations, identities: stored.identities },
    tokens_revoked: stored.revoked || undefined,
    tokens_not_revoked: stored.not_revoked || undefined,
    deleted: true,
  };
}

const nothingStored = { identities: 0, revoked: 0, not_revoked: 0 };

async function removeWhatIsStored(loginUserId: string, signal: AbortSignal | undefined) {
  const item = (await readItem(loginUserItem(loginUserId))) ?? {};
  const identities = identitiesIn(item);
  await Promise.all(identities.map(({ slot, identity_id }) => slot && releaseIdentity(slot, identity_id)));
  if (typeof item.external_id === 'string')
    await releaseExternalId(String(item.login_app_id), item.external_id, loginUserId);
  const revocations = await revokeStoredTokens(item, signal);
  // The place in the list keeps the Login App, whose settings are needed to revoke the rest.
  const inList = new Set(revocations.not_revoked > 0 ? listAttributes : []);
  const remains = (name: string) => remaining.test(name) || inList.has(name) || isStoredToken(name);
  const remove = Object.keys(item).filter((name) => !remains(name));
  if (remove.length > 0)
    await updateItem(loginUserItem(loginUserId), { remove, when: { deleted_at: { exists: true } } });
  return { identities: identities.length, ...revocations };
}

/** The attributes that remain, so that nobody gets the id again. */
const remaining = /^(pk|sk|login_user_id|login_app_id|deleted_at|next_slot|write_id|created_by)$/;

/** Whether the deletion of a Login User has begun. */
export const hasBegun = async (loginUserId: string): Promise<boolean> =>
  (await readItem(loginUserItem(loginUserId)))?.deleted_at !== undefined;

/** Milliseconds after which no function can still be working on a deletion. */
const underWayFor = 600_000;

/**
 * Finishes deletions that were interrupted more than ten minutes ago, for a few seconds; the next call goes on. One that fails is
 * marked anew, so it comes last.
 */
export async function finishDeletions(by: { caller: 'schedule' } | { caller: 'operator'; operator: string }) {
  const writeAuditLine = (mark: DeletionMark, result: 'done' | 'failed') =>
    logAudit({ ...by, command: 'login-users finish-deletions', ...idsAmong(mark), result });
  let finished = 0;
  let failed = 0;
  let isAll = true;
  const hasTime = timeLimit();
  for await (const mark of readInterrupted()) {
    isAll = hasTime();
    if (!isAll) break;
    try {
      if (!(await finish(mark))) continue;
      finished += 1;
      writeAuditLine(mark, 'done');
    } catch (error) {
      failed += 1;
      writeAuditLine(mark, 'failed');
      logFailure('deletion_not_finished', error, { login_user_id: mark.login_user_id });
    }
  }
  return {
    deleted: isAll && failed === 0,
    removed: { login_users: finished, links: 0 },
    not_finished: failed || undefined,
    again_after_seconds: isAll ? undefined : 0,
  };
}

/** Finishes the deletion that a mark leads to. False when there was only the mark. */
async function finish({ login_user_id, by, list_position }: DeletionMark): Promise<boolean> {
  if (await hasBegun(login_user_id)) return (await deleteLoginUser(login_user_id, by)) !== undefined;
  // It never began. The mark goes, unless somebody has made another since.
  await deleteItem(deletionKey(login_user_id), { list_position: { is: list_position } });
  return false;
}

async function* readInterrupted(): AsyncGenerator<DeletionMark> {
  for await (const interrupted of readMemberPages(unfinishedList, ago(underWayFor))) {
    // 1.0.0 marked links, too. What they left goes with the next link, unlink or deletion.
    const ofLinks = interrupted.filter(({ identity_id }) => identity_id !== undefined);
    await Promise.all(ofLinks.map((item) => deleteItem(item)));
    yield* interrupted.filter((item) => !ofLinks.includes(item)).map(deletionItem.parse);
  }
}
