import * as v from 'valibot';
import { type Identity, identityIndexItem } from '../../login-users/linked-identity.ts';
import { firstIndexId, loginUserIn, loginUserItem } from '../../login-users/login-user.ts';
import { type Item, readItem, updateItem } from '../../storage/items.ts';

export interface Owner {
  loginUserId: string;
  /** Absent where it is the owner's first identity. */
  identityId?: string;
}

/** The last index item of an identity. */
export interface IdentityIndexItem {
  id: string;
  /** The person to whom the index item assigns the identity; undefined when it is free. */
  owner: Owner | undefined;
  /** The external id of a person whose first identity it is. */
  externalId: string | undefined;
  /** The Login Users before it whose deletion has begun and is not finished. */
  unfinished: string[];
}

/**
 * The index item where an identity logs in, found by reads: one, and one more for each time that a Login User with this as
 * their first identity was deleted or unlinked it. Then the first index item is made to lead straight to the last.
 * @param known the item of the first index item, if it has been read
 */
export async function findIndexItem(
  loginAppId: string,
  identity: Identity,
  known?: Item,
): Promise<IdentityIndexItem> {
  const first = firstIndexId(loginAppId, identity);
  let id = first;
  let item = v.parse(identityIndexItem, known ?? (await readItem(loginUserItem(id))) ?? {});
  let steps = 0;
  const unfinished: string[] = [];
  while (item.next_slot !== undefined) {
    if (item.deleted_at !== undefined && item.created_at !== undefined) unfinished.push(id);
    id = item.next_slot;
    item = v.parse(identityIndexItem, (await readItem(loginUserItem(id))) ?? {});
    steps += 1;
  }
  // Whoever is skipped is no longer found this way.
  if (steps > 1 && unfinished.length === 0) {
    await updateItem(loginUserItem(first), {
      set: { next_slot: id },
      when: { next_slot: { exists: true } },
    });
  }
  const { created_at, external_id: externalId, linked_to, identity_id } = item;
  const found = { id, externalId, unfinished };
  if (linked_to !== undefined && identity_id !== undefined)
    return { ...found, owner: { loginUserId: linked_to, identityId: identity_id } };
  return { ...found, owner: created_at === undefined ? undefined : { loginUserId: id } };
}

/** The owner of an identity; undefined for nobody's. A linked one counts only if its Login User says so too. */
export async function confirmedOwner({ owner }: IdentityIndexItem): Promise<Owner | undefined> {
  if (owner?.identityId === undefined) return owner;
  const user = loginUserIn(await readItem(loginUserItem(owner.loginUserId)));
  return user?.linked.some(({ identity_id }) => identity_id === owner.identityId) ? owner : undefined;
}

/**
 * Makes an index item lead to a Login User with an identity of theirs. False when it has changed meanwhile.
 * @param indexItem one without a confirmed owner
 */
export async function claimIdentity(
  indexItem: IdentityIndexItem,
  loginUserId: string,
  identityId: string,
): Promise<boolean> {
  const leftBehind = indexItem.owner?.identityId;
  const { done } = await updateItem(loginUserItem(indexItem.id), {
    set: { linked_to: loginUserId, identity_id: identityId },
    when: leftBehind === undefined ? isFree : { identity_id: { is: leftBehind } },
  });
  return done;
}

const isFree = {
  created_at: { exists: false },
  next_slot: { exists: false },
  linked_to: { exists: false },
} as const;

/** Frees an index item that leads to an identity which its Login User does not have, or no longer. */
export async function releaseIdentity(indexId: string, identityId: string): Promise<void> {
  await updateItem(loginUserItem(indexId), {
    remove: ['linked_to', 'identity_id'],
    when: { identity_id: { is: identityId } },
  });
}
