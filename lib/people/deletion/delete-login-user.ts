import * as v from 'valibot';
import { endAllRelations } from '../../devices/relate-device.ts';
import { timestamp } from '../../foundation/clock.ts';
import { logEvent } from '../../log/log.ts';
import { guestEndItem } from '../../login-users/guest-end.ts';
import { identitiesIn } from '../../login-users/linked-identity.ts';
import {
  blockedError,
  listAttributes,
  loginUserItem,
  newIndexId,
  remaining,
} from '../../login-users/login-user.ts';
import type { Conditions } from '../../storage/expressions.ts';
import { deleteItem, type ItemOf, itemKind, readItem, updateItem } from '../../storage/items.ts';
import { deletionKey, unfinishedList } from '../../storage/keys.ts';
import { put, update, writeTogether } from '../../storage/transactions.ts';
import { releaseExternalId, releaseIdentity } from '../identities/identity-index.ts';
import { revokeStoredTokens } from '../identities/revoke-tokens.ts';
import { isStoredToken } from '../identities/stored-token.ts';
import { isOpen, readSessions, removeSessions, sessionItem } from '../sessions/session.ts';

/**
 * A pending deletion. It is written with the first change of a deletion, and removed with the last
 * one, so an item that stays leads to a deletion that was interrupted.
 */
export const deletionItem = itemKind(
  v.object({
    login_user_id: v.string(),
    by: v.picklist(['operator', 'person', 'provider']),
    /** Set for a guest whose time was over. Then `by` is one that 1.1.0 can finish, too. */
    is_expiry: v.optional(v.literal(true)),
  }),
  deletionKey,
);
type DeletedBy = ItemOf<typeof deletionItem>['by'] | 'expiry';

/** The party that began a pending deletion, or `expiry`. */
export const beginnerOf = ({ by, is_expiry }: ItemOf<typeof deletionItem>): DeletedBy =>
  is_expiry ? 'expiry' : by;

interface Options {
  /** A session that is removed last, so that its token can repeat what was interrupted. */
  last?: string;
  /** Aborts the revocation of providers' tokens, for a caller who can't wait. */
  signal?: AbortSignal | undefined;
  /** Further conditions of the Login User without which nothing is deleted. */
  when?: Conditions;
}

/**
 * Deletes a Login User: the first write begins the deletion and keeps them out, and the others
 * remove what was theirs. An interrupted deletion can be repeated, or is found by its pending item.
 * A device that the index doesn't show yet is unlinked when it is read.
 * @returns the numbers of what was removed, as the operator reads them; undefined when there was
 *   nothing to delete, or a condition did not hold
 * @throws ServiceError `forbidden` for a blocked person who asks for it, and could come back as
 *   somebody new
 */
export async function deleteLoginUser(
  loginUserId: string,
  by: DeletedBy,
  { last, signal, when = {} }: Options = {},
) {
  // 1. From now on nobody logs in as this person.
  const beginning = await beginDeletion(loginUserId, by, when);
  if (beginning === 'refused' && by === 'person') throw blockedError('forbidden');
  if (beginning === 'refused') return undefined;

  // 2. What was theirs goes. Sessions and devices may be left even of somebody who is not stored.
  const sessions = await readSessions(loginUserId);
  await removeSessions(sessions.filter(({ session_id }) => session_id !== last));
  const relations = await endAllRelations(loginUserId);
  const isStored = beginning === 'begun';
  const stored = isStored ? await removeWhatIsStored(loginUserId, signal) : nothingStored;

  // 3. The session that could repeat this goes last, and then nothing is pending.
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
 * Begins the deletion of a person, and keeps them out from now on.
 * @returns `not_stored` when there is no item of theirs, `refused` when they stay: they are blocked,
 *   or a condition did not hold
 */
async function beginDeletion(
  loginUserId: string,
  by: DeletedBy,
  when: Conditions,
): Promise<'begun' | 'not_stored' | 'refused'> {
  const pending = put(deletionItem(loginUserId), {
    login_user_id: loginUserId,
    by: by === 'expiry' ? 'operator' : by,
    is_expiry: by === 'expiry' ? true : undefined,
    list: unfinishedList,
    list_position: timestamp(),
  });
  const isForced = by === 'operator' || by === 'expiry';
  const whileAllowed = isForced ? when : { ...when, blocked_at: { exists: false } };
  const begins = update(loginUserItem(loginUserId), {
    setIfAbsent: { deleted_at: timestamp(), next_slot: newIndexId() },
    when: { ...whileAllowed, created_at: { exists: true } },
  });
  const outcome = await writeTogether([pending, begins]);
  if (outcome.done) return 'begun';

  const { created_at, deleted_at } = outcome.refused.get(begins) ?? {};
  if (created_at === undefined) return 'not_stored';
  // A deletion that has begun goes on, also that of a blocked person by an operator.
  return deleted_at === undefined ? 'refused' : 'begun';
}

const nothingStored = { identities: 0, revoked: 0, not_revoked: 0 };

/** Removes what the item of a person holds, and frees what leads to them. */
async function removeWhatIsStored(loginUserId: string, signal: AbortSignal | undefined) {
  const item = (await readItem(loginUserItem(loginUserId))) ?? {};

  // Others may get the identities and the external id.
  const identities = identitiesIn(item);
  await Promise.all(
    identities.map(({ slot: indexId, identity_id }) =>
      indexId === undefined ? undefined : releaseIdentity(indexId, identity_id),
    ),
  );
  const { external_id } = item;
  if (typeof external_id === 'string')
    await releaseExternalId(String(item.login_app_id), external_id, loginUserId);

  // Nobody has to look at a guest any more.
  if (item.guest_until !== undefined) await deleteItem(guestEndItem(loginUserId));

  // Tokens that could not be revoked stay, and so does what leads to them.
  const revocations = await revokeStoredTokens(item, signal);
  const remains = (attribute: string): boolean => {
    if (remaining.has(attribute) || isStoredToken(attribute)) return true;
    return revocations.not_revoked > 0 && listAttributes.includes(attribute);
  };
  const remove = Object.keys(item).filter((attribute) => !remains(attribute));
  if (remove.length > 0)
    await updateItem(loginUserItem(loginUserId), {
      remove,
      when: { deleted_at: { exists: true } },
    });
  return { identities: identities.length, ...revocations };
}
