import * as v from 'valibot';
import { ago, timestamp } from '../../foundation/clock.ts';
import { firstIdentityId, type Identity, identityIndexItem } from '../../login-users/linked-identity.ts';
import { firstIndexId, type LoginUser, loginUserItem, readLoginUser } from '../../login-users/login-user.ts';
import { deleteItem, type Item, type ItemOf, itemKind, readItem, updateItem } from '../../storage/items.ts';
import { externalIdKey } from '../../storage/keys.ts';

/** The person who has an identity, and the id of the identity. */
export interface Owner {
  login_user_id: string;
  identity_id: string;
}

export const ownerOfFirst = (login_user_id: string): Owner => ({
  login_user_id,
  identity_id: firstIdentityId(login_user_id),
});

export const isFirst = ({ login_user_id, identity_id }: Owner): boolean =>
  identity_id === firstIdentityId(login_user_id);

/** The last index item of an identity. */
export type IdentityIndexItem = Awaited<ReturnType<typeof findIndexItem>>;

/**
 * The index item where an identity logs in. There is another one for each deletion, and each unlinking of it as a first identity;
 * after several, the first is made to lead straight to the last. @param known the first one, if it has been read
 */
export async function findIndexItem(loginAppId: string, identity: Identity, known?: Item) {
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
  // An unfinished deletion is found on the way, so it must not be skipped.
  if (steps > 1 && unfinished.length === 0)
    await updateItem(loginUserItem(first), { set: { next_slot: id }, when: { next_slot: { exists: true } } });
  const { created_at, external_id, blocked_at, linked_to, identity_id } = item;
  const ofFirst = created_at === undefined ? undefined : ownerOfFirst(id);
  const isLinked = linked_to !== undefined && identity_id !== undefined;
  return {
    id,
    /** The owner by the index item alone; undefined for a free identity. */
    owner: isLinked ? { login_user_id: linked_to, identity_id } : ofFirst,
    /** The person whose first identity it is. */
    first: { external_id, blocked_at },
    /** Former Login Users with the identity whose deletion is not finished. */
    unfinished,
  };
}

/** The owner of an identity, if any. A linked one counts only if the Login User has it too. */
export async function confirmedOwner({ id, owner }: IdentityIndexItem): Promise<Owner | undefined> {
  if (!owner || owner.login_user_id === id) return owner;
  return (await identityOf(owner)) && owner;
}

export async function identityOf({ login_user_id, identity_id }: Owner) {
  return (await readLoginUser(login_user_id))?.identities.find((one) => one.identity_id === identity_id);
}

/** Conditions that an identity index item leads to nobody. */
export const whileFree = {
  created_at: { exists: false },
  next_slot: { exists: false },
  linked_to: { exists: false },
};

/** Gives an index item without a confirmed owner to another one. False when it has changed meanwhile. */
export async function claimIdentity(indexItem: IdentityIndexItem, owner: Owner): Promise<boolean> {
  const { done } = await updateItem(loginUserItem(indexItem.id), {
    set: { linked_to: owner.login_user_id, identity_id: owner.identity_id },
    when: indexItem.owner ? { identity_id: { is: indexItem.owner.identity_id } } : whileFree,
  });
  return done;
}

/** Frees an index item whose Login User does not have the identity. */
export async function releaseIdentity(indexId: string, identityId: string): Promise<void> {
  await updateItem(loginUserItem(indexId), {
    remove: ['linked_to', 'identity_id'],
    when: { identity_id: { is: identityId } },
  });
}

/** The index item of an external id. It counts only if the Login User has the external id too. */
const externalIdItem = itemKind(
  v.object({ login_user_id: v.string(), claimed_at: v.string() }),
  externalIdKey,
);

/** Milliseconds after which no import still works on its claims: the function is stopped after 30 s. */
const longestImport = 60_000;

/** The index item of an external id, and the person who has the external id. */
export async function findExternalId(loginAppId: string, externalId: string) {
  const claim = await readItem(externalIdItem(loginAppId, externalId));
  const user = claim && (await readLoginUser(claim.login_user_id));
  return { claim, user: user?.external_id === externalId ? user : undefined };
}

/** Makes an external id lead to a Login User, before they get it. False while another import may be giving it away. */
export async function claimExternalId(
  { login_user_id, login_app_id }: Pick<LoginUser, 'login_user_id' | 'login_app_id'>,
  externalId: string,
  claim: ItemOf<typeof externalIdItem> | undefined,
): Promise<boolean> {
  if (claim?.login_user_id === login_user_id) return true;
  if (claim && claim.claimed_at > ago(longestImport)) return false;
  const { done } = await updateItem(externalIdItem(login_app_id, externalId), {
    set: { login_user_id, claimed_at: timestamp() },
    when: { login_user_id: { is: claim?.login_user_id } },
  });
  return done;
}

export const releaseExternalId = (loginAppId: string, externalId: string, loginUserId: string) =>
  deleteItem(externalIdItem(loginAppId, externalId), { login_user_id: { is: loginUserId } });
