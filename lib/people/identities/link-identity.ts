import { timestamp } from '../../foundation/clock.ts';
import { newId } from '../../foundation/ids.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import { logEvent } from '../../log/log.ts';
import { annotateIds } from '../../log/request-fields.ts';
import {
  attributesOf,
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
import { unprocessableEntity } from '../../schema/validation.ts';
import { retryOnConflict } from '../../storage/batches.ts';
import { readItem, updateItem } from '../../storage/items.ts';
import { attributesLeft, isUnderWay, ownIdentities, shownIdentity } from './identities-of-person.ts';
import {
  claimIdentity,
  confirmedOwner,
  findIndexItem,
  identityOf,
  isFirst,
  type Owner,
  releaseIdentity,
} from './identity-index.ts';
import { changeBy, revokeIfRefused, revokeStoredTokens, type TokenPlace } from './provider-tokens.ts';

/** The most identities that a person may link. Each login reads them all. */
const mostLinked = 20;

/**
 * Links a verified identity to a Login User by two conditional writes: their attribute, then the index item of the identity,
 * which only one of several people gets. An attribute without it counts for nothing: the next link or unlink removes it.
 * @param options `ask` throws for an identity that must not be linked, and is asked once, when nothing else is known to refuse;
 *   `byOperator` links to a blocked person too, `move` takes the identity from another Login User
 * @throws ServiceError `conflict` when the identity is another Login User's or they have too many, `forbidden` when they were
 *   blocked meanwhile, `invalid_token` when they were deleted
 */
export async function linkIdentity(
  person: Pick<LoginUser, 'login_user_id' | 'login_app_id' | 'identities'>,
  provider: ProviderId,
  verified: VerifiedIdentity,
  { byOperator = false, move = false, ask = async () => {} } = {},
) {
  const { login_user_id, login_app_id, identities } = person;
  const place = { loginAppId: login_app_id, provider };
  let isAllowed = false;
  const linkOnce = async () => {
    // 1. The identity may have an owner.
    const indexItem = await findIndexItem(login_app_id, verified);
    const owner = await confirmedOwner(indexItem);
    if (owner && owner.login_user_id !== login_user_id) {
      if (!move) throw new ServiceError('conflict', belongsToAnother);
      await unlinkIdentity(owner, { byOperator, evenLast: true });
      annotateIds({ former_login_user_id: owner.login_user_id });
      return undefined;
    }
    if (owner) {
      const identity = await (byOperator ? identityOf(owner) : asVerified(owner, place, verified));
      return identity && { isNew: false, identity: shownIdentity(identity) };
    }

    // 2. They have room for it, and the login hook allows it.
    await requireRoom(linkedIn(identities), indexItem.id);
    if (!isAllowed) await ask();
    isAllowed = true;

    // 3. The person gets it. Of two requests at once that take the last room, one sees the other's.
    const { namespace, subject } = verified;
    const identity_id = newId('i');
    const linked_at = timestamp();
    const newOwner = { login_user_id, identity_id };
    const { set } = await changeBy(newOwner, place, verified);
    const identity = { identity_id, slot: indexItem.id, provider, namespace, subject, linked_at };
    const added = await updateItem(loginUserItem(login_user_id), {
      set: { [identityAttributes.linked(identity_id)]: identity, ...set },
      remove: attributesLeft(identities, await ownIdentities(identities)),
      when: byOperator ? whileExisting : whileActive,
    });
    if (!added.done) {
      const { blocked_at, deleted_at } = added.found ?? {};
      if (blocked_at !== undefined && deleted_at === undefined) throw blockedError('forbidden');
      throw deletedError();
    }
    const linked = linkedIn(identitiesIn(added.before ?? added.after ?? {}));
    const others = linked.filter((one) => one.identity_id !== identity_id);
    await requireRoom(others, indexItem.id).catch(async (error) => {
      await removeIdentity(newOwner);
      throw error;
    });

    // 4. Its index item leads to them, unless it leads to somebody else by now.
    if (!(await claimIdentity(indexItem, newOwner))) {
      await removeIdentity(newOwner);
      return undefined;
    }
    logEvent('identity_linked', { ...newOwner, provider });
    const details = identityDetails({ ...set }, identity_id);
    return { isNew: true, identity: shownIdentity({ ...identity, ...details }) };
  };
  return retryOnConflict(linkOnce, 'Others keep linking and unlinking the identity.').catch((error) =>
    revokeIfRefused(error, login_user_id, place, verified),
  );
}

const linkedIn = (identities: UserIdentity[]) => identities.filter(({ slot }) => slot !== undefined);

/** Updates an identity as just verified; undefined when it was unlinked meanwhile. */
async function asVerified(owner: Owner, place: TokenPlace, verified: VerifiedIdentity) {
  const { done } = await updateItem(loginUserItem(owner.login_user_id), {
    ...(await changeBy(owner, place, verified)),
    when: { ...whileExisting, [attributeOf(owner)]: { exists: true } },
  });
  return done ? identityOf(owner) : undefined;
}

/** @throws ServiceError `conflict` when others take the whole room */
async function requireRoom(others: UserIdentity[], indexId: string): Promise<void> {
  if (others.length < mostLinked) return;
  if ((await countLinked(others, indexId)) >= mostLinked) throw new ServiceError('conflict', tooMany);
}

/** Counts the identities whose index items agree or whose links may be under way, but for a link that is being repeated. */
async function countLinked(others: UserIdentity[], indexId: string): Promise<number> {
  const own = await ownIdentities(others);
  const takesRoom = (identity: UserIdentity) =>
    own.includes(identity) || (identity.slot !== indexId && isUnderWay(identity));
  return others.filter(takesRoom).length;
}

async function removeIdentity({ login_user_id, identity_id }: Owner): Promise<void> {
  await updateItem(loginUserItem(login_user_id), {
    remove: attributesOf(identity_id),
    when: { [identityAttributes.linked(identity_id)]: { exists: true } },
  });
}

const tooMany = `The Login User has ${mostLinked} linked identities, which is the most. Unlink one first.`;
const belongsToAnother = 'The identity belongs to another Login User of this Login App.';

/**
 * Unlinks an identity from a Login User.
 * @param options `byOperator` unlinks from a blocked person too, `evenLast` the last one too
 * @throws ServiceError `not_found` for no such identity, `unprocessable_entity` for the last one, `forbidden` if blocked
 */
export async function unlinkIdentity(
  { login_user_id, identity_id }: Owner,
  { byOperator = false, evenLast = false } = {},
): Promise<void> {
  await retryOnConflict(async () => {
    const { identities = [] } = (await readLoginUser(login_user_id)) ?? {};
    const own = await ownIdentities(identities);
    const identity = own.find((one) => one.identity_id === identity_id);
    if (!identity) throw new ServiceError('not_found', 'The Login User has no such identity.');
    const other = own.find((one) => one !== identity);
    if (!(other || evenLast)) throw unprocessableEntity([{ field: 'identity_id', message: last }]);
    const { slot } = identity;
    const outcome = await updateItem(loginUserItem(login_user_id), {
      // The first identity gets another index item: its own stays that of the Login User.
      set: slot === undefined ? { next_slot: newIndexId() } : {},
      // The provider's token stays until it is revoked.
      remove: [
        ...(slot === undefined ? ['provider', 'namespace', 'subject'] : []),
        ...attributesWithoutToken(identity_id),
        ...attributesLeft(identities, own),
      ],
      when: {
        ...(byOperator ? whileExisting : whileActive),
        [attributeOf({ login_user_id, identity_id })]: { exists: true },
        ...(other && { [attributeOf({ ...other, login_user_id })]: { exists: true } }),
      },
    });
    if (!outcome.done) {
      if (outcome.found?.blocked_at !== undefined && !byOperator) throw blockedError('forbidden');
      return undefined;
    }
    if (slot !== undefined) await releaseIdentity(slot, identity_id);
    logEvent('identity_unlinked', { login_user_id, identity_id });
    const item = await readItem(loginUserItem(login_user_id));
    if (item) await revokeStoredTokens(item);
    return true;
  }, 'The person keeps changing their identities.');
}

/** The attribute of a Login User that exists while they have an identity. */
const attributeOf = (owner: Owner): string =>
  isFirst(owner) ? 'subject' : identityAttributes.linked(owner.identity_id);

const last =
  'The last identity cannot be unlinked: nobody could log in any longer. Delete the account instead.';
