import * as v from 'valibot';
import { endRelationsWhere } from '../../devices/relate-device.ts';
import { timestamp } from '../../foundation/clock.ts';
import { logEvent } from '../../log/log.ts';
import { identitiesIn } from '../../login-users/linked-identity.ts';
import {
  blockedError,
  listAttributes,
  loginUserItem,
  newIndexId,
} from '../../login-users/login-user.ts';
import { forEachInBatches } from '../../storage/batches.ts';
import type { Conditions } from '../../storage/expressions.ts';
import { deleteItem, type ItemOf, itemKind, readItem, updateItem } from '../../storage/items.ts';
import { deletionKey, unfinishedList } from '../../storage/keys.ts';
import { put, update, writeTogether } from '../../storage/transactions.ts';
import { releaseExternalId, releaseIdentity } from '../identities/identity-index.ts';
import { revokeStoredTokens } from '../identities/revoke-tokens.ts';
import { isStoredToken } from '../identities/stored-token.ts';
import { isOpen, readSessions, sessionItem } from '../sessions/session.ts';

/** The mark of a deletion: it begins and ends with it, so the mark leads to an interrupted one. */
export const deletionItem = itemKind(
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
 * Deletes a Login User: the first write marks the deletion and keeps them out, and the others
 * remove what was theirs. An interrupted deletion can be repeated, or the mark leads to it. The
 * relation of a device that the index doesn't show yet ends by itself.
 * @returns the numbers of what was removed, as the operator reads them; undefined when there was
 *   nothing to delete, or a condition did not hold
 * @throws ServiceError `forbidden` for a blocked person who asks for it, and could come back as
 *   somebody new
 */
export async function deleteLoginUser(
  loginUserId: string,
  by: DeletionMark['by'],
  { last, signal, when = {} }: Options = {},
) {
  const { isStored, isRefused } = await begin(loginUserId, by, when);
  if (isRefused && by === 'person') throw blockedError('forbidden');
  if (isRefused) return undefined;

  const sessions = await readSessions(loginUserId);
  const others = sessions.filter(({ session_id }) => session_id !== last);
  await forEachInBatches(others, ({ session_id }) =>
    deleteItem(sessionItem(loginUserId, session_id)),
  );
  const relations = await endRelationsWhere(loginUserId);
  const stored = isStored ? await removeWhatIsStored(loginUserId, signal) : nothingStored;
  if (last !== undefined) await deleteItem(sessionItem(loginUserId, last));
  await deleteItem(deletionKey(loginUserId));
  if (!isStored && sessions.length === 0 && relations === 0) return undefined;
  logEvent('login_user_deleted', { login_user_id: loginUserId, by });
  return {
    login_user_id: loginUserId,
    sessions_ended: sessions.filter(isOpen).length,
    removed: {
      sessions: sessions.length,
      device_relations: relations,
      identities: stored.identities,
    },
    tokens_revoked: stored.revoked || undefined,
    tokens_not_revoked: stored.not_revoked || undefined,
    deleted: true,
  };
}

/**
 * Marks the deletion of a person, and keeps them out from now on.
 * @returns whether there is something of theirs, and whether they stay: blocked, or as a condition
 *   says
 */
async function begin(loginUserId: string, by: DeletionMark['by'], when: Conditions) {
  const place = { list: unfinishedList, list_position: timestamp() };
  const marks = put(deletionItem(loginUserId), { login_user_id: loginUserId, by, ...place });
  const mayBeBlocked = by === 'operator' ? {} : { blocked_at: { exists: false } };
  const begins = update(loginUserItem(loginUserId), {
    setIfAbsent: { deleted_at: timestamp(), next_slot: newIndexId() },
    when: { ...when, ...mayBeBlocked, created_at: { exists: true } },
  });
  const outcome = await writeTogether([marks, begins]);
  if (outcome.done) return { isStored: true, isRefused: false };
  const { created_at, deleted_at } = outcome.refused.get(begins) ?? {};
  const isStored = created_at !== undefined;
  // A deletion that has begun goes on, also that of a blocked person by an operator.
  return { isStored, isRefused: isStored && deleted_at === undefined };
}

const nothingStored = { identities: 0, revoked: 0, not_revoked: 0 };

async function removeWhatIsStored(loginUserId: string, signal: AbortSignal | undefined) {
  const item = (await readItem(loginUserItem(loginUserId))) ?? {};
  const identities = identitiesIn(item);
  await Promise.all(
    identities.map(({ slot, identity_id }) => slot && releaseIdentity(slot, identity_id)),
  );
  if (typeof item.external_id === 'string')
    await releaseExternalId(String(item.login_app_id), item.external_id, loginUserId);
  const revocations = await revokeStoredTokens(item, signal);
  // The place in the list keeps the Login App, whose settings are needed to revoke the rest.
  const inList = new Set(revocations.not_revoked > 0 ? listAttributes : []);
  const remains = (name: string) => remaining.test(name) || inList.has(name) || isStoredToken(name);
  const remove = Object.keys(item).filter((name) => !remains(name));
  if (remove.length > 0)
    await updateItem(loginUserItem(loginUserId), {
      remove,
      when: { deleted_at: { exists: true } },
    });
  return { identities: identities.length, ...revocations };
}

/** The attributes that remain, so that nobody gets the id again. */
const remaining = /^(pk|sk|login_user_id|login_app_id|deleted_at|next_slot|write_id|created_by)$/;
