import { timestamp } from '../../foundation/clock.ts';
import { newId } from '../../foundation/ids.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import { logEvent } from '../../log/log.ts';
import { annotateIds } from '../../log/request-fields.ts';
import {
  attributesWithoutToken,
  identitiesIn,
  identityAttributes,
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
import { unprocessableEntity } from '../../schema/validation.ts';
import { retryOnConflict } from '../../storage/batches.ts';
import type { Conditions } from '../../storage/expressions.ts';
import { type Item, readItem, updateItem } from '../../storage/items.ts';
import { update, writeTogether } from '../../storage/transactions.ts';
import { attributeOf, changeOfIdentities, roomOf, tooManyLinked } from './change-of-identities.ts';
import { shownIdentity } from './identities-of-person.ts';
import { findIndexItem, leadNowhere, leadTo, type Owner, ownerOf } from './identity-index.ts';
import { changeBy, retryRevocations, revokeStoredTokens, revokeUnlessStored } from './provider-tokens.ts';

/**
 * Links a verified identity to a Login User. The person and the index item of the identity change in
 * one transaction, and so does a person who had the identity before.
 * @param options `ask` throws for an identity that must not be linked; it is asked once, when nothing
 *   else is known to refuse. `byOperator` links to a blocked person too, `move` takes the identity
 *   from another Login User
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
  const newOwner = { login_user_id, identity_id: newId('i') };
  let isAllowed = false;
  const linkOnce = async () => {
    // 1. The identity may have an owner.
    const indexItem = await findIndexItem(login_app_id, verified);
    const former = await ownerOf(indexItem);
    if (former?.user.login_user_id === login_user_id) {
      const { identity_id } = former.identity;
      const identity = byOperator
        ? former.identity
        : await asVerified({ login_user_id, identity_id }, place, verified);
      return identity && { isNew: false, identity: shownIdentity(identity) };
    }
    if (former && !move) throw new ServiceError('conflict', belongsToAnother);

    // 2. The person may link another one, and the login hook allows it.
    const user = await readLoginUser(login_user_id);
    if (!user) throw deletedError();
    if (user.blocked_at !== undefined && !byOperator) throw blockedError('forbidden');
    if (roomOf(user) <= 0) throw new ServiceError('conflict', tooManyLinked);
    if (!isAllowed) await ask();
    isAllowed = true;

    // 3. The person gets it, and its index item leads to them.
    const isFirstOfFormer = former !== undefined && former.identity.slot === undefined;
    const target = isFirstOfFormer ? { id: newIndexId(), owner: undefined } : indexItem;
    const { namespace, subject } = verified;
    const { identity_id } = newOwner;
    const identity = { identity_id, slot: target.id, provider, namespace, subject, linked_at: timestamp() };
    const { set: details } = await changeBy(newOwner, place, verified);
    const change = changeOfIdentities(user, { added: [identity] });
    const gains = update(loginUserItem(login_user_id), {
      ...change,
      set: { ...change.set, ...details },
      when: { ...change.when, ...(byOperator ? whileExisting : whileActive) },
    });
    const leads = leadTo(newOwner, target);
    const loses = former ? [losing(former.user, former.identity, whileExisting, target.id)] : [];
    const outcome = await writeTogether([gains, leads, ...loses]);
    if (!outcome.done) {
      requireChangeable(outcome.refused.get(gains), byOperator);
      return undefined;
    }
    if (former) await afterUnlinking(former.user.login_user_id, [former.identity]);
    annotateIds({ former_login_user_id: former?.user.login_user_id });
    logEvent('identity_linked', { ...newOwner, provider });
    return {
      isNew: true,
      identity: shownIdentity({ ...identity, ...identityDetails({ ...details }, identity_id) }),
    };
  };
  return retryOnConflict(linkOnce, 'Others keep linking and unlinking the identity.').catch((error) =>
    revokeUnlessStored(error, login_user_id, place, verified),
  );
}

const belongsToAnother = 'The identity belongs to another Login User of this Login App.';

/** @param found the item of a person whom a change was refused for, if it was @throws ServiceError if they are why */
function requireChangeable(found: Item | undefined, byOperator: boolean): void {
  if (!found) return;
  if (found.deleted_at !== undefined) throw deletedError();
  if (found.blocked_at !== undefined && !byOperator) throw blockedError('forbidden');
}

/** Updates an identity as just verified; undefined when it was unlinked meanwhile. */
async function asVerified(owner: Owner, place: TokenPlace, verified: VerifiedIdentity) {
  const { done } = await updateItem(loginUserItem(owner.login_user_id), {
    ...(await changeBy(owner, place, verified)),
    when: { ...whileExisting, [attributeOf(owner)]: { exists: true } },
  });
  return done ? (await ownerOf({ owner }))?.identity : undefined;
}

/** The write by which a person loses an identity. @param nextIndexId where it goes on, if it is the first one */
function losing(user: LoginUser, identity: UserIdentity, when: Conditions, nextIndexId = newIndexId()) {
  const change = changeOfIdentities(user, { removed: [identity], nextIndexId });
  return update(loginUserItem(user.login_user_id), { ...change, when: { ...change.when, ...when } });
}

/** Logs that a person has lost identities, and revokes the provider's tokens that came with them. */
export async function afterUnlinking(
  login_user_id: string,
  removed: UserIdentity[],
  signal?: AbortSignal,
): Promise<void> {
  if (removed.length === 0) return;
  for (const { identity_id } of removed) logEvent('identity_unlinked', { login_user_id, identity_id });
  const item = await readItem(loginUserItem(login_user_id));
  if (item) await revokeStoredTokens(item, signal);
}

/** An identity that a person has besides this one, if any. */
export const otherThan = ({ identities }: LoginUser, { identity_id }: UserIdentity) =>
  identities.find((one) => one.identity_id !== identity_id);

/**
 * Unlinks an identity from a Login User, if another one remains. The person and the index item of the
 * identity change in one transaction.
 * @param options `byOperator` unlinks from a blocked person too
 * @throws ServiceError `not_found` for no such identity, `unprocessable_entity` for the last one, `forbidden` if blocked
 */
export async function unlinkIdentity(
  { login_user_id, identity_id }: Owner,
  { byOperator = false } = {},
): Promise<void> {
  const removed = await retryOnConflict(async () => {
    const user = await readLoginUser(login_user_id);
    const identity = user?.identities.find((one) => one.identity_id === identity_id);
    if (!user || !identity) throw noSuchIdentity();
    const other = otherThan(user, identity);
    if (!other) throw unprocessableEntity([{ field: 'identity_id', message: last }]);
    const { loses, outcome } = await unlink(user, identity, other, byOperator ? whileExisting : whileActive);
    if (outcome.done) return identity;
    requireChangeable(outcome.refused.get(loses), byOperator);
    // Its index item leads to somebody else, or to nobody.
    if (!outcome.refused.has(loses)) throw noSuchIdentity();
    return undefined;
  }, 'The person keeps changing their identities.');
  await afterUnlinking(login_user_id, [removed]);
}

/** Takes an identity from a person who keeps another one, if `when` holds for the person. */
async function unlink(user: LoginUser, identity: UserIdentity, other: UserIdentity, when: Conditions) {
  const { login_user_id } = user;
  const keepsOther = { [attributeOf({ ...other, login_user_id })]: { exists: true } };
  const loses = losing(user, identity, { ...when, ...keepsOther });
  return { loses, outcome: await writeTogether([loses, ...leadNowhere([identity])]) };
}

/** Unlinks an identity whose provider asks for it, as `unlinkIdentity` does. @returns whether `when` held for the person */
export async function unlinkForProvider(
  user: LoginUser,
  identity: UserIdentity,
  { other, when, signal }: { other: UserIdentity; when: Conditions; signal: AbortSignal | undefined },
): Promise<boolean> {
  const { outcome } = await unlink(user, identity, other, { ...whileActive, ...when });
  if (outcome.done) await afterUnlinking(user.login_user_id, [identity], signal);
  return outcome.done;
}

const noSuchIdentity = () => new ServiceError('not_found', 'The Login User has no such identity.');
const last =
  'The last identity cannot be unlinked: nobody could log in any longer. Delete the account instead.';

/**
 * Removes what an interrupted link of 1.0.0 has left of an identity: the attributes of a person to whom
 * its index item does not lead. 1.0.0 wrote the two one after the other.
 * @returns whether there was anything to remove
 */
export async function removeLeftoverLink({ login_user_id, identity_id }: Owner): Promise<boolean> {
  const item = await readItem(loginUserItem(login_user_id));
  const identities = item ? identitiesIn(item) : [];
  const slot = identities.find((one) => one.identity_id === identity_id)?.slot;
  const indexItem = slot === undefined ? undefined : await readItem(loginUserItem(slot));
  const isLeftover = slot !== undefined && indexItem?.identity_id !== identity_id;
  if (isLeftover)
    await updateItem(loginUserItem(login_user_id), {
      remove: attributesWithoutToken(identity_id),
      when: { [identityAttributes.linked(identity_id)]: { exists: true } },
    });
  await retryRevocations(login_user_id);
  return isLeftover;
}
