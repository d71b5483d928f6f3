import * as v from 'valibot';
import { endAllRelations } from '../../devices/relate-device.ts';
import { timestamp } from '../../foundation/clock.ts';
import { logEvent } from '../../log/log.ts';
import { linkedIdentitiesIn } from '../../login-users/linked-identity.ts';
import { blockedError, loginUserItem, newIndexId } from '../../login-users/login-user.ts';
import { listAttributes } from '../../login-users/people-of-login-app.ts';
import { forEachInBatches } from '../../storage/batches.ts';
import { deleteItem, type ItemOf, itemKind, putItem, readItem, updateItem } from '../../storage/items.ts';
import { deletionKey, unfinishedList } from '../../storage/keys.ts';
import { releaseExternalId } from '../identities/external-id.ts';
import { releaseIdentity } from '../identities/identity-index.ts';
import { isStoredToken, revokeStoredTokens } from '../identities/provider-tokens.ts';
import { isOpen, readSessions, removeSession } from '../sessions/session.ts';

/** The mark of a deletion: written before everything else and removed after it, so that it leads to what nobody repeats. */
export const deletionItem = itemKind(
  v.object({
    login_user_id: v.string(),
    /** The party that asked for it. */
    by: v.picklist(['operator', 'person', 'provider']),
    list_position: v.string(),
  }),
  deletionKey,
);
export type DeletionMark = ItemOf<typeof deletionItem>;

/**
 * Deletes a Login User: from the first write on nobody gets in, and the other writes remove what was theirs. After an
 * interruption it can be repeated and finishes the work, or the mark leads to it. A device that the index does not show yet is not theirs either:
 * a relation ends with its Login User. Only an operator deletes a blocked person, who could log in again as somebody new.
 * @param last a session that is removed after everything else, so that its token can repeat what was interrupted
 * @param signal ends the revocation of providers' tokens, for a caller who cannot wait for them
 * @returns the numbers of what was removed; undefined when there was nothing to delete
 * @throws ServiceError `forbidden` for a blocked person, unless an operator asks
 */
export async function deleteLoginUser(
  loginUserId: string,
  by: DeletionMark['by'],
  last?: string,
  signal?: AbortSignal,
) {
  const key = loginUserItem(loginUserId);
  const mark = { login_user_id: loginUserId, by, list_position: timestamp() };
  await putItem(deletionItem(loginUserId), { ...mark, list: unfinishedList });
  const begun = await updateItem(key, {
    setIfAbsent: { deleted_at: timestamp(), next_slot: newIndexId() },
    when: { created_at: { exists: true }, ...(by !== 'operator' && { blocked_at: { exists: false } }) },
  });
  const found = begun.done ? undefined : begun.found;
  if (found?.blocked_at !== undefined && found.deleted_at === undefined) {
    await deleteItem(deletionKey(loginUserId));
    throw blockedError('forbidden');
  }
  // A blocked person whom an operator began to delete is stored, too.
  const isStored = begun.done || found?.created_at !== undefined;
  const sessions = await readSessions(loginUserId);
  const others = sessions.filter(({ session_id }) => session_id !== last);
  await forEachInBatches(others, ({ session_id }) => removeSession(loginUserId, session_id));
  const relations = await endAllRelations(loginUserId);
  const stored = isStored ? await removeWhatIsStored(loginUserId, signal) : nothingStored;
  if (last !== undefined) await removeSession(loginUserId, last);
  await deleteItem(deletionKey(loginUserId));
  if (!isStored && sessions.length === 0 && relations === 0) return undefined;
  logEvent('login_user_deleted', { login_user_id: loginUserId, by });
  return { sessions: sessions.length, openSessions: sessions.filter(isOpen).length, relations, ...stored };
}

/** Whether the deletion of a Login User has begun: then it can only be finished. */
export const hasBegun = async (loginUserId: string): Promise<boolean> =>
  (await readItem(loginUserItem(loginUserId)))?.deleted_at !== undefined;

const nothingStored = { identities: 0, revocations: { revoked: 0, not_revoked: 0 } };

/** Frees the index items of the linked identities and of the external id, revokes the providers' tokens and removes all attributes but a few. */
async function removeWhatIsStored(loginUserId: string, signal: AbortSignal | undefined) {
  const item = (await readItem(loginUserItem(loginUserId))) ?? {};
  const linked = linkedIdentitiesIn(item);
  await Promise.all(linked.map(({ slot, identity_id }) => releaseIdentity(slot, identity_id)));
  if (typeof item.external_id === 'string')
    await releaseExternalId(String(item.login_app_id), item.external_id, loginUserId);
  const revocations = await revokeStoredTokens(item, signal);
  const inList = new Set<string>(revocations.not_revoked > 0 ? listAttributes : []);
  const remains = (name: string) => remaining.test(name) || inList.has(name) || isStoredToken(name);
  const remove = Object.keys(item).filter((name) => !remains(name));
  if (remove.length > 0) {
    await updateItem(loginUserItem(loginUserId), { remove, when: { deleted_at: { exists: true } } });
  }
  return { identities: linked.length + (item.subject === undefined ? 0 : 1), revocations };
}

/**
 * The attributes that remain of a deleted Login User, so that nobody gets the id again. While a token is to be revoked,
 * the place in the list of the Login App's people remains too: the Login App must not be deleted before.
 */
const remaining = /^(pk|sk|login_user_id|login_app_id|deleted_at|next_slot|write_id|created_by)$/;
