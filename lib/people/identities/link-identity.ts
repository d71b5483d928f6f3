import { timestamp } from '../../foundation/clock.ts';
import { newId } from '../../foundation/ids.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import { logEvent } from '../../log/log.ts';
import { annotateIds } from '../../log/request-fields.ts';
import {
  identityDetails,
  type UserIdentity,
  type VerifiedIdentity,
} from '../../login-users/linked-identity.ts';
import {
  blockedError,
  deletedError,
  type LoginUser,
  loginUserItem,
  newIndexId,
  readLoginUser,
  whileActive,
  whileExisting,
} from '../../login-users/login-user.ts';
import type { ProviderId } from '../../providers/provider-ids.ts';
import type { TokenPlace } from '../../providers/provider-token.ts';
import { retryOnConflict } from '../../storage/batches.ts';
import { updateItem } from '../../storage/items.ts';
import { update, writeTogether } from '../../storage/transactions.ts';
import {
  attributeOf,
  changeOfIdentities,
  requireChangeable,
  roomOf,
  tooManyLinked,
} from './change-of-identities.ts';
import { shownIdentity } from './identities-of-person.ts';
import {
  findIndexItem,
  type IdentityIndexItem,
  type IdentityOwner,
  leadTo,
  type Owner,
  ownerOf,
} from './identity-index.ts';
import { changeBy, revokeUnlessStored } from './provider-tokens.ts';
import { afterUnlinking, losing } from './unlink-identity.ts';

/** A link that is to be made. */
interface Link extends Owner {
  place: TokenPlace;
  verified: VerifiedIdentity;
  byOperator: boolean;
}

/**
 * Links a verified identity to a Login User. The person and the index item of the identity change
 * in one transaction, and so does a person who had the identity before.
 * @param options `ask` throws for an identity that must not be linked; it is asked once, when
 *   nothing else is known to refuse. `byOperator` links to a blocked person too, `move` takes the
 *   identity from another Login User
 * @throws ServiceError `conflict` when the identity is another Login User's or they have too many,
 *   `forbidden` when they were blocked meanwhile, `invalid_token` when they were deleted
 */
export async function linkIdentity(
  { login_user_id, login_app_id }: Pick<LoginUser, 'login_user_id' | 'login_app_id'>,
  provider: ProviderId,
  verified: VerifiedIdentity,
  { byOperator = false, move = false, ask = async () => {} } = {},
) {
  const place = { loginAppId: login_app_id, provider };
  const link: Link = { login_user_id, identity_id: newId('i'), place, verified, byOperator };
  let isAllowed = false;
  const linkOnce = async () => {
    // 1. The identity may have an owner.
    const indexItem = await findIndexItem(login_app_id, verified);
    const former = await ownerOf(indexItem);
    if (former?.user.login_user_id === login_user_id) return linkAgain(link, former.identity);
    if (former && !move) throw new ServiceError('conflict', belongsToAnother);

    // 2. The person may link another one.
    const user = await readWithRoom(link);

    // 3. The login hook allows it.
    if (!isAllowed) await ask();
    isAllowed = true;

    // 4. The person gets it.
    return writeLink(link, user, { indexItem, former });
  };
  try {
    return await retryOnConflict(linkOnce, 'Others keep linking and unlinking the identity.');
  } catch (error) {
    return await revokeUnlessStored(error, login_user_id, place, verified);
  }
}

const belongsToAnother = 'The identity belongs to another Login User of this Login App.';

/** The outcome for an identity that is theirs already. Undefined when it was unlinked meanwhile. */
async function linkAgain({ byOperator, ...link }: Link, known: UserIdentity) {
  const identity = byOperator ? known : await asVerified(link, known);
  return identity && { isNew: false, identity: shownIdentity(identity) };
}

/** Updates an identity as just verified. Undefined when it was unlinked meanwhile. */
async function asVerified(
  { login_user_id, place, verified }: Pick<Link, 'login_user_id' | 'place' | 'verified'>,
  { identity_id }: UserIdentity,
): Promise<UserIdentity | undefined> {
  const owner = { login_user_id, identity_id };
  const change = await changeBy(owner, place, verified);
  const { done } = await updateItem(loginUserItem(login_user_id), {
    ...change,
    when: { ...whileExisting, [attributeOf(owner)]: { exists: true } },
  });
  if (!done) return undefined;
  return (await ownerOf({ owner }))?.identity;
}

/**
 * The person as they are now.
 * @throws ServiceError when they may not link any identity
 */
async function readWithRoom({ login_user_id, byOperator }: Link): Promise<LoginUser> {
  const user = await readLoginUser(login_user_id);
  if (!user) throw deletedError();
  if (user.blocked_at !== undefined && !byOperator) throw blockedError('forbidden');
  if (roomOf(user) <= 0) throw new ServiceError('conflict', tooManyLinked);
  return user;
}

/** The place to which an identity leads before the link, and its owner there. */
interface Before {
  indexItem: IdentityIndexItem;
  former: IdentityOwner | undefined;
}

/**
 * Writes a link, and takes the identity from the person who had it, in one transaction.
 * @returns undefined when somebody has changed since they were read
 * @throws ServiceError when the person was blocked or deleted
 */
async function writeLink(link: Link, user: LoginUser, { indexItem, former }: Before) {
  const { login_user_id, identity_id, place, verified, byOperator } = link;
  const { provider } = place;
  const { namespace, subject } = verified;
  // The index item of somebody's first identity stays that person's.
  const isFirst = former !== undefined && former.identity.slot === undefined;
  const target = isFirst ? { id: newIndexId(), owner: undefined } : indexItem;
  const linked_at = timestamp();
  const identity = { identity_id, slot: target.id, provider, namespace, subject, linked_at };
  const { set: details } = await changeBy(link, place, verified);
  const change = changeOfIdentities(user, { added: [identity] });
  const gains = update(loginUserItem(login_user_id), {
    ...change,
    set: { ...change.set, ...details },
    when: { ...change.when, ...(byOperator ? whileExisting : whileActive) },
  });
  const writes = [gains, leadTo(link, target)];
  if (former) {
    const options = { when: whileExisting, nextIndexId: target.id };
    writes.push(losing(former.user, former.identity, options));
  }

  const outcome = await writeTogether(writes);
  if (!outcome.done) {
    requireChangeable(outcome.refused.get(gains), byOperator);
    return undefined;
  }
  if (former) {
    const former_login_user_id = former.user.login_user_id;
    annotateIds({ former_login_user_id });
    await afterUnlinking(former_login_user_id, [former.identity]);
  }
  logEvent('identity_linked', { login_user_id, identity_id, provider });
  const shown = { ...identity, ...identityDetails({ ...details }, identity_id) };
  return { isNew: true, identity: shownIdentity(shown) };
}
