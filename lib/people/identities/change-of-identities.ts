import {
  attributesWithoutToken,
  identityAttributes,
  type StoredIdentity,
  type UserIdentity,
} from '../../login-users/linked-identity.ts';
import {
  blockedError,
  deletedError,
  type LoginUser,
  type LoginUserItem,
  newIndexId,
} from '../../login-users/login-user.ts';
import type { Change, Conditions } from '../../storage/expressions.ts';
import type { Item } from '../../storage/items.ts';
import { isFirst, type Owner } from './identity-index.ts';

/** The most identities that a person may link. Each login reads them all. */
const mostLinked = 20;

export const tooManyLinked = `The Login User has ${mostLinked} linked identities, which is the most. Unlink one first.`;

/** Whether an identity was linked to a person. Otherwise, it is the one that created them. */
const isLinked = ({ slot }: StoredIdentity): boolean => slot !== undefined;

/** The number of identities that a person may still link. */
export const roomOf = ({ identities }: Pick<LoginUser, 'identities'>): number =>
  mostLinked - identities.filter(isLinked).length;

/** The attribute of a Login User that exists while they have an identity. */
export const attributeOf = (owner: Owner): string =>
  isFirst(owner) ? 'subject' : identityAttributes.linked(owner.identity_id);

/**
 * @param found the item of a person whose change was refused; undefined if it was not theirs
 * @throws ServiceError `invalid_token` or `forbidden` if they were deleted or blocked
 */
export function requireChangeable(found: Item | undefined, byOperator: boolean): void {
  if (!found) return;
  if (found.deleted_at !== undefined) throw deletedError();
  if (found.blocked_at !== undefined && !byOperator) throw blockedError('forbidden');
}

interface IdentityChange {
  added?: StoredIdentity[];
  removed?: UserIdentity[];
  /** The id of the index item where a first identity that is removed goes on. */
  nextIndexId?: string;
}

/** A change of a person, with the parts that others add to. */
interface PersonChange extends Change<LoginUserItem> {
  set: NonNullable<Change<LoginUserItem>['set']>;
  count: NonNullable<Change<LoginUserItem>['count']>;
  remove: string[];
  when: Conditions;
}

/**
 * The change of a person who gets identities and loses others. It belongs into one transaction with
 * those of the index items. The provider's tokens stay, since they are still to be revoked.
 */
export function changeOfIdentities(
  user: LoginUser,
  { added = [], removed = [], nextIndexId = newIndexId() }: IdentityChange,
): PersonChange {
  const { login_user_id } = user;
  const change: PersonChange = { set: {}, count: {}, remove: [], when: {} };
  for (const identity of added)
    change.set[identityAttributes.linked(identity.identity_id)] = identity;
  for (const identity of removed) {
    const { identity_id } = identity;
    change.remove.push(...attributesWithoutToken(identity_id));
    change.when[attributeOf({ login_user_id, identity_id })] = { exists: true };
    // The index item of a first identity stays the Login User's own, so the identity goes on
    // elsewhere.
    if (!isLinked(identity)) {
      change.set.next_slot = nextIndexId;
      change.remove.push('provider', 'namespace', 'subject');
    }
  }
  countLinked(user, change, { added: added.length, removed: removed.filter(isLinked).length });
  return change;
}

/**
 * Adds the number of linked identities to a change. They are counted so that the limit holds for
 * several requests at once. 1.0.0 does not count: where the number differs from what was read, it
 * is set, on the condition that nobody has changed the identities since. The number alone does not
 * tell that: others may have set it to what it was.
 */
function countLinked(
  { identities, linked_identities, changes_of_identities }: LoginUser,
  change: PersonChange,
  { added, removed }: { added: number; removed: number },
): void {
  const before = identities.filter(isLinked).length;
  const by = added - removed;
  change.count.changes_of_identities = { by: 1 };
  if (linked_identities !== before) {
    change.set.linked_identities = before + by;
    change.when.linked_identities = { is: linked_identities };
    change.when.changes_of_identities = { is: changes_of_identities };
    return;
  }
  change.count.linked_identities = { by };
  if (added > 0) change.when.linked_identities = { isNotFrom: mostLinked - added + 1 };
}
