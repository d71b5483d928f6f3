import * as v from 'valibot';
import {
  firstIdentityId,
  type Identity,
  identityIndexItem,
  type UserIdentity,
} from '../../login-users/linked-identity.ts';
import {
  firstIndexId,
  type LoginUser,
  loginUserItem,
  readLoginUser,
} from '../../login-users/login-user.ts';
import type { Conditions } from '../../storage/expressions.ts';
import {
  deleteItem,
  type Item,
  type ItemOf,
  itemKind,
  readItem,
  updateItem,
} from '../../storage/items.ts';
import { externalIdKey } from '../../storage/keys.ts';
import { put, type TransactionWrite, update } from '../../storage/transactions.ts';

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
 * The index item where an identity logs in. There is another one for each deletion, and each
 * unlinking of it as a first identity; after several, the first is made to lead straight to the
 * last.
 * @param known the first one, if it has been read
 */
export async function findIndexItem(loginAppId: string, identity: Identity, known?: Item) {
  const firstId = firstIndexId(loginAppId, identity);
  let id = firstId;
  let item = known ? v.parse(identityIndexItem, known) : await readIndexItem(id);
  let steps = 0;
  while (item.next_slot !== undefined) {
    id = item.next_slot;
    item = await readIndexItem(id);
    steps += 1;
  }
  if (steps > 1) await leadStraight(firstId, id);

  const { external_id, blocked_at } = item;
  return {
    id,
    /** The owner by the index item alone; undefined for a free identity. */
    owner: ownerIn(id, item),
    /** The person whose first identity it is. */
    first: { external_id, blocked_at },
  };
}

async function readIndexItem(id: string): Promise<StoredIndexItem> {
  const item = await readItem(loginUserItem(id));
  return v.parse(identityIndexItem, item ?? {});
}

type StoredIndexItem = v.InferOutput<typeof identityIndexItem>;

/** Makes the first index item of an identity lead to its last one. */
async function leadStraight(firstId: string, lastId: string): Promise<void> {
  await updateItem(loginUserItem(firstId), {
    set: { next_slot: lastId },
    when: { next_slot: { exists: true } },
  });
}

/** The owner to whom an index item leads, or whose own item it is; undefined if there is none. */
function ownerIn(id: string, item: StoredIndexItem): Owner | undefined {
  const { created_at, linked_to, identity_id } = item;
  if (linked_to !== undefined && identity_id !== undefined)
    return { login_user_id: linked_to, identity_id };
  return created_at === undefined ? undefined : ownerOfFirst(id);
}

/**
 * The person to whom an index item leads, and their identity. Undefined for a free identity, and
 * for one of which 1.0.0 freed only half: the item leads to somebody who no longer has the
 * identity.
 */
export async function ownerOf({
  owner,
}: Pick<IdentityIndexItem, 'owner'>): Promise<IdentityOwner | undefined> {
  if (!owner) return undefined;
  const user = await readLoginUser(owner.login_user_id);
  const identity = user?.identities.find(({ identity_id }) => identity_id === owner.identity_id);
  return user && identity && { user, identity };
}

/**
 * Whether a person's own item was read as the index item of an identity that is not theirs. Their
 * first identity has come or gone between the reads: the next ones find it elsewhere.
 */
export const isOwnItem = (
  { id }: Pick<IdentityIndexItem, 'id'>,
  { login_user_id }: Pick<Owner, 'login_user_id'>,
): boolean => id === login_user_id;

/** A person with one of their identities. */
export interface IdentityOwner {
  user: LoginUser;
  identity: UserIdentity;
}

/** Conditions that an index item leads to nobody. */
const whileFree: Conditions = {
  created_at: { exists: false },
  next_slot: { exists: false },
  linked_to: { exists: false },
};

/**
 * Conditions that an index item leads where it did when it was read, but not to a first identity.
 */
export const whileUnchanged = ({ owner }: Pick<IdentityIndexItem, 'owner'>): Conditions =>
  owner ? { identity_id: { is: owner.identity_id } } : whileFree;

/**
 * The write that makes an index item lead to a person. The transaction also gives them the
 * identity.
 */
export const leadTo = (
  { login_user_id, identity_id }: Owner,
  indexItem: Pick<IdentityIndexItem, 'id' | 'owner'>,
): TransactionWrite =>
  update(loginUserItem(indexItem.id), {
    set: { linked_to: login_user_id, identity_id },
    when: whileUnchanged(indexItem),
  });

/** The changes that free an index item, if it leads to this identity. */
const freeing = (identityId: string) => ({
  remove: ['linked_to', 'identity_id'],
  when: { identity_id: { is: identityId } },
});

/**
 * The writes that free the index items of linked identities. The transaction also takes these from
 * the person.
 */
export const leadNowhere = (identities: UserIdentity[]): TransactionWrite[] =>
  identities.flatMap(({ slot: indexId, identity_id }) =>
    indexId === undefined ? [] : [update(loginUserItem(indexId), freeing(identity_id))],
  );

/**
 * Frees an index item that leads to somebody who does not have the identity, or is being deleted.
 */
export async function releaseIdentity(indexId: string, identityId: string): Promise<void> {
  await updateItem(loginUserItem(indexId), freeing(identityId));
}

const externalIdItem = itemKind(v.object({ login_user_id: v.string() }), externalIdKey);

/**
 * The item of an external id, and the person who has it. A person who is being deleted no longer
 * has it.
 */
export async function findExternalId(loginAppId: string, externalId: string) {
  const item = await readItem(externalIdItem(loginAppId, externalId));
  const user = item && (await readLoginUser(item.login_user_id));
  return { item, user };
}

/**
 * The write that gives an external id to a person, unless it was given away since its item was
 * read.
 */
export const claimExternalId = (
  loginAppId: string,
  externalId: string,
  login_user_id: string,
  item: ItemOf<typeof externalIdItem> | undefined,
): TransactionWrite =>
  put(
    externalIdItem(loginAppId, externalId),
    { login_user_id },
    { login_user_id: { is: item?.login_user_id } },
  );

export const releaseExternalId = (loginAppId: string, externalId: string, loginUserId: string) =>
  deleteItem(externalIdItem(loginAppId, externalId), { login_user_id: { is: loginUserId } });
