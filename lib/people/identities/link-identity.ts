import { timestamp } from '../../foundation/clock.ts';
import { newId } from '../../foundation/ids.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import { logEvent } from '../../log/log.ts';
import { annotateIds } from '../../log/request-fields.ts';
import { guestEndItem } from '../../login-users/guest-end.ts';
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
import type { ReceivedToken } from '../../providers/received-token.ts';
import { retryOnConflict } from '../../storage/batches.ts';
import { updateItem } from '../../storage/items.ts';
import { remove, update, writeTogether } from '../../storage/transactions.ts';
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
  isOwnItem,
  leadTo,
  type Owner,
  ownerOf,
} from './identity-index.ts';
import { decideOnToken, noteStored } from './store-token.ts';
import { afterUnlinking, losing } from './unlink-identity.ts';
import { attributesOfVerified } from './verified-attributes.ts';

/** A link that is to be made. */
interface Link extends Owner {
  place: TokenPlace;
  verified: VerifiedIdentity;
  received: ReceivedToken;
  byOperator: boolean;
}

/** Options of `linkIdentity`. */
interface LinkOptions {
  byOperator?: boolean;
  move?: boolean;
  ask?: () => Promise<void>;
  received?: ReceivedToken;
}

/**
 * Links a verified identity to a Login User. The person and the index item of the identity change
 * in one transaction, and so does a person who had the identity before.
 * @param options `ask` throws for an identity that must not be linked; it is asked once, when
 *   nothing else is known to refuse. `byOperator` links to a blocked person too, `move` takes the
 *   identity from another Login User, `received` has the provider's refresh token, if one came
 * @throws ServiceError `conflict` when the identity is another Login User's or they have too many,
 *   `forbidden` when they were blocked meanwhile, `invalid_token` when they were deleted
 */
export async function linkIdentity(
  { login_user_id, login_app_id }: Pick<LoginUser, 'login_user_id' | 'login_app_id'>,
  provider: ProviderId,
  verified: VerifiedIdentity,
  options: LinkOptions = {},
) {
  const { byOperator = false, move = false, ask = async () => {}, received = {} } = options;
  const place = { loginAppId: login_app_id, provider };
  const identity_id = newId('i');
  const link: Link = { login_user_id, identity_id, place, verified, received, byOperator };
  let isAllowed = false;
  const linkOnce = async () => {
    // 1. The identity may have an owner.
    const indexItem = await findIndexItem(login_app_id, verified);
    const owner = await ownerOf(indexItem);
    if (owner?.user.login_user_id === login_user_id) return linkAgain(link, owner.identity);
    if (owner && !move)
      throw new ServiceError('conflict', belongsToAnother, { further: { merge_possible: true } });

    // 2. The person may link another one.
    const user = await readWithRoom(link);
    if (isOwnItem(indexItem, user)) return undefined;

    // 3. The login hook allows it.
    if (!isAllowed) await ask();
    isAllowed = true;

    // 4. The person gets it.
    return writeLink(link, user, { indexItem, owner });
  };
  return retryOnConflict(linkOnce, 'Others keep linking and unlinking the identity.');
}

const belongsToAnother = 'The identity belongs to another Login User of this Login App.';

/** The outcome for an identity that is theirs already. Undefined when it was unlinked meanwhile. */
async function linkAgain(link: Link, known: UserIdentity) {
  // An operator links by what somebody has written down: no provider has verified it just now.
  const identity = link.byOperator ? known : await updateVerified(link, known);
  return identity && { isNew: false, identity: shownIdentity(identity) };
}

/** Updates an identity as just verified. Undefined when it was unlinked meanwhile. */
async function updateVerified(
  { login_user_id, place, verified, received }: Link,
  { identity_id }: UserIdentity,
): Promise<UserIdentity | undefined> {
  const owner = { login_user_id, identity_id };
  const tokenChange = await decideOnToken(owner, place, received);
  const { done } = await updateItem(loginUserItem(login_user_id), {
    set: { ...attributesOfVerified(identity_id, verified), ...tokenChange.set },
    copy: tokenChange.copy,
    when: { ...whileExisting, [attributeOf(owner)]: { exists: true } },
  });
  if (!done) return undefined;
  noteStored(received);
  const updated = await ownerOf({ owner });
  return updated?.identity;
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

/** The index item of an identity before the link, and the person to whom it leads. */
interface Before {
  indexItem: IdentityIndexItem;
  owner: IdentityOwner | undefined;
}

/**
 * Writes a link, and takes the identity from the person who had it, in one transaction.
 * @returns undefined when somebody has changed since they were read
 * @throws ServiceError when the person was blocked or deleted
 */
async function writeLink(link: Link, user: LoginUser, before: Before) {
  const { login_user_id, identity_id, place, verified, received, byOperator } = link;
  const previousOwner = before.owner;

  // The index item of somebody's first identity stays that person's.
  const isTheirFirst = previousOwner !== undefined && previousOwner.identity.slot === undefined;
  const indexItem = isTheirFirst ? { id: newIndexId(), owner: undefined } : before.indexItem;

  // The person gets the identity, and the index item leads to them.
  const identity = {
    identity_id,
    slot: indexItem.id,
    provider: place.provider,
    namespace: verified.namespace,
    subject: verified.subject,
    linked_at: timestamp(),
  };
  const tokenChange = await decideOnToken(link, place, received);
  const details = { ...attributesOfVerified(identity_id, verified), ...tokenChange.set };
  const change = changeOfIdentities(user, { added: [identity] });
  // A guest becomes a person.
  if (user.guest_until !== undefined) change.remove.push('guest_until');
  const gains = update(loginUserItem(login_user_id), {
    ...change,
    set: { ...change.set, ...details },
    when: { ...change.when, ...(byOperator ? whileExisting : whileActive) },
  });
  const writes = [gains, leadTo(link, indexItem)];
  const isPromoted = user.guest_until !== undefined;
  if (isPromoted) writes.push(remove(guestEndItem(login_user_id)));

  // The previous owner loses it.
  if (previousOwner) {
    const options = { when: whileExisting, nextIndexId: indexItem.id };
    writes.push(losing(previousOwner.user, previousOwner.identity, options));
  }

  const outcome = await writeTogether(writes);
  if (!outcome.done) {
    requireChangeable(outcome.refused.get(gains), byOperator);
    return undefined;
  }
  noteStored(received);
  if (previousOwner) {
    const former_login_user_id = previousOwner.user.login_user_id;
    annotateIds({ former_login_user_id });
    await afterUnlinking(former_login_user_id, [previousOwner.identity]);
  }
  logEvent('identity_linked', { login_user_id, identity_id, provider: place.provider });
  if (isPromoted) logEvent('login_user_promoted', { login_user_id });
  const shown = { ...identity, ...identityDetails({ ...details }, identity_id) };
  return { isNew: true, identity: shownIdentity(shown) };
}
