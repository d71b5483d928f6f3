import * as v from 'valibot';
import { endRelationsWhere } from '../../devices/relate-device.ts';
import { ago, timestamp } from '../../foundation/clock.ts';
import { logAudit, logEvent, logFailure } from '../../log/log.ts';
import { idsAmong } from '../../log/request-fields.ts';
import { identitiesIn } from '../../login-users/linked-identity.ts';
import { blockedError, listAttributes, loginUserItem, newIndexId } from '../../login-users/login-user.ts';
import { forEachInBatches, timeLimit } from '../../storage/batches.ts';
import type { Conditions } from '../../storage/expressions.ts';
import { deleteItem, type Item, type ItemOf, itemKind, readItem, updateItem } from '../../storage/items.ts';
import { deletionKey, unfinishedList } from '../../storage/keys.ts';
import { readMemberPages } from '../../storage/lists.ts';
import { put, update, writeTogether } from '../../storage/transactions.ts';
import { releaseExternalId, releaseIdentity } from '../identities/identity-index.ts';
import { removeLeftoverLink } from '../identities/link-identity.ts';
import { isStoredToken, revokeStoredTokens } from '../identities/provider-tokens.ts';
import { isOpen, readSessions, sessionItem } from '../sessions/session.ts';

/** The mark of a deletion: it begins and ends with it, so the mark leads to an interrupted one. */
const deletionItem = itemKind(
  v.object({ login_user_id: v.string(), by: v.picklist(['operator', 'person', 'provider']) }),
  deletionKey,
);
type DeletionMark = ItemOf<typeof deletionItem>;

interface Options {
  /** A session that is removed last, so that its token can repeat what was interrupted. */
  last?: string;
  /** Aborts the revocation of providers' tokens, for a caller who can't wait. */
  signal?: AbortSignal | undefined;
  /** Further conditions of the Login User without which nothing is deleted. */
  when?: Conditions;
}

/**
 * Deletes a Login User: the first write marks the deletion and keeps them out, and the others remove what was theirs. An
 * interrupted deletion can be repeated, or the mark leads to it. The relation of a device that the index doesn't show yet ends
 * by itself.
 * @returns the numbers of what was removed, as the operator reads them; undefined when there was nothing to delete, or a
 *   condition did not hold
 * @throws ServiceError `forbidden` for a blocked person who asks for it, and could come back as somebody new
 */
export async function deleteLoginUser(
  loginUserId: string,
  by: DeletionMark['by'],
  { last, signal, when = {} }: Options = {},
) {
  const place = { list: unfinishedList, list_position: timestamp() };
  const marks = put(deletionItem(loginUserId), { login_user_id: loginUserId, by, ...place });
  const begins = update(loginUserItem(loginUserId), {
    setIfAbsent: { deleted_at: timestamp(), next_slot: newIndexId() },
    when: {
      ...when,
      created_at: { exists: true },
      ...(by !== 'operator' && { blocked_at: { exists: false } }),
    },
  });
  const outcome = await writeTogether([marks, begins]);
  const found = outcome.done ? undefined : outcome.refused.get(begins);
  const isStored = outcome.done || found?.created_at !== undefined;
  if (!outcome.done && isStored && found?.deleted_at === undefined) {
    if (by === 'person') throw blockedError('forbidden');
    return undefined;
  }
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

/** Milliseconds after which no function can still be working on a deletion. */
const underWayFor = 600_000;

/**
 * Finishes deletions that were interrupted more than ten minutes ago, for a few seconds; the next call goes on. One that fails is
 * marked anew, so it comes last. Links that 1.0.0 did not finish are removed, too.
 */
export async function finishDeletions(by: { caller: 'schedule' } | { caller: 'operator'; operator: string }) {
  const writeAuditLine = (mark: Item, result: 'done' | 'failed') =>
    logAudit({ ...by, command: 'login-users finish-deletions', ...idsAmong(mark), result });
  const removed = { login_users: 0, links: 0 };
  let failed = 0;
  let isAll = true;
  const hasTime = timeLimit();
  for await (const mark of readInterrupted()) {
    isAll = hasTime();
    if (!isAll) break;
    try {
      const kind = await finish(mark);
      if (kind === undefined) continue;
      removed[kind] += 1;
      writeAuditLine(mark, 'done');
    } catch (error) {
      failed += 1;
      writeAuditLine(mark, 'failed');
      logFailure('deletion_not_finished', error, { login_user_id: String(mark.login_user_id) });
    }
  }
  return {
    deleted: isAll && failed === 0,
    removed,
    not_finished: failed || undefined,
    again_after_seconds: isAll ? undefined : 0,
  };
}

async function* readInterrupted(): AsyncGenerator<Item> {
  for await (const interrupted of readMemberPages(unfinishedList, ago(underWayFor))) yield* interrupted;
}

/** The mark of a link, which 1.0.0 wrote before it, and removed after it. */
const linkMarkSchema = v.object({ login_user_id: v.string(), identity_id: v.string() });

/** Finishes what a mark leads to. @returns what was removed; undefined when there was only the mark */
async function finish(mark: Item): Promise<'login_users' | 'links' | undefined> {
  if (mark.identity_id !== undefined) {
    const isLeftover = await removeLeftoverLink(v.parse(linkMarkSchema, mark));
    await deleteItem(mark);
    return isLeftover ? 'links' : undefined;
  }
  const { login_user_id, by } = deletionItem.parse(mark);
  const hasBegun = (await readItem(loginUserItem(login_user_id)))?.deleted_at !== undefined;
  if (hasBegun) return (await deleteLoginUser(login_user_id, by)) && 'login_users';
  // 1.0.0 wrote the mark by itself. It goes, unless somebody has made another since.
  await deleteItem(mark, { list_position: { is: String(mark.list_position) } });
  return undefined;
}
