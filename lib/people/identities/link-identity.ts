import { isDeepStrictEqual } from 'node:util';
import { timestamp } from '../../foundation/clock.ts';
import { newId } from '../../foundation/ids.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import { logEvent } from '../../log/log.ts';
import { annotateIds } from '../../log/request-fields.ts';
import {
  attributesOf,
  attributesSaid,
  firstIdentityId,
  type IdentityAttributes,
  identityAttributes,
  identityDetails,
  type LinkedIdentity,
  linkedIdentitiesIn,
  type VerifiedIdentity,
} from '../../login-users/linked-identity.ts';
import {
  blockedError,
  type LoginUser,
  loginUserItem,
  readLoginUser,
  whileActive,
  whileExisting,
} from '../../login-users/login-user.ts';
import type { ProviderId } from '../../providers/provider-ids.ts';
import { updateItem } from '../../storage/items.ts';
import { retryOnConflict } from '../../storage/retry-on-conflict.ts';
import {
  attributesLeft,
  confirmedIds,
  isUnderWay,
  ownIdentities,
  type ShownIdentity,
  shownDetails,
} from './identities-of-person.ts';
import { claimIdentity, confirmedOwner, findIndexItem } from './identity-index.ts';
import { keepingToken, revokeIfRefused, type TokenPlace } from './provider-tokens.ts';
import { attributeOf, unlinkIdentity } from './unlink-identity.ts';

/** The most identities that a person may have linked. Each login reads them all. */
const mostLinked = 20;

interface LinkOptions {
  byOperator?: boolean;
  move?: boolean;
  ask?: () => Promise<void>;
}

/**
 * Links an identity, which its provider has just vouched for, to a Login User. Two conditional writes: the attribute of
 * the Login User, then the index item of the identity, which only one of several people gets. An attribute
 * that an interruption leaves without its index item counts for nothing; the next link or unlinking removes it.
 * @param options.ask throws a ServiceError for an identity that must not be linked
 * @param options.byOperator links it to a blocked person too
 * @param options.move takes it from another Login User who has it
 * @throws ServiceError `conflict` when the identity belongs to another Login User or they have too many, `forbidden`
 *   when the Login User has been blocked meanwhile, `invalid_token` when they have been deleted
 */
export async function linkIdentity(
  { login_user_id, login_app_id, linked }: Pick<LoginUser, 'login_user_id' | 'login_app_id' | 'linked'>,
  provider: ProviderId,
  verified: VerifiedIdentity,
  { byOperator = false, move = false, ask }: LinkOptions = {},
): Promise<{ isNew: boolean; identity: ShownIdentity }> {
  const place = { loginAppId: login_app_id, provider };
  const linkOnce = async () => {
    const indexItem = await findIndexItem(login_app_id, verified);
    const owner = await confirmedOwner(indexItem);
    if (owner && owner.loginUserId !== login_user_id) {
      if (!move) throw new ServiceError('conflict', belongsToAnother);
      const identityId = owner.identityId ?? firstIdentityId(owner.loginUserId);
      await unlinkIdentity(owner.loginUserId, identityId, { byOperator, evenLast: true });
      annotateIds({ former_login_user_id: owner.loginUserId });
      return undefined;
    }
    if (owner) {
      const identity = await identityOf(login_user_id, owner.identityId ?? firstIdentityId(login_user_id));
      if (!identity || byOperator) return identity && { isNew: false, identity };
      const current = await asVerified(login_user_id, identity, place, verified);
      return current && { isNew: false, identity: current };
    }
    const { namespace, subject } = verified;
    const identity_id = newId('i');
    const linked_at = timestamp();
    const kept = await keepingToken(login_user_id, identity_id, place, verified);
    const identity = { identity_id, slot: indexItem.id, provider, namespace, subject, linked_at };
    const set = { ...kept.set, ...attributesSaid(identity_id, verified) };
    const others = await addIdentity(login_user_id, identity, {
      set,
      remove: linked.length > 0 ? attributesLeft(linked, await confirmedIds(linked)) : [],
      when: byOperator ? whileExisting : whileActive,
    });
    if (others.length >= mostLinked && (await countLinked(others, indexItem.id)) >= mostLinked) {
      await removeIdentity(login_user_id, identity_id);
      throw new ServiceError('conflict', tooMany);
    }
    if (await claimIdentity(indexItem, login_user_id, identity_id)) {
      logEvent('identity_linked', { login_user_id, identity_id, provider });
      const details = shownDetails(identityDetails(set, identity_id));
      return { isNew: true, identity: { id: identity_id, provider, linked_at, ...details } };
    }
    await removeIdentity(login_user_id, identity_id);
    return undefined;
  };
  try {
    await ask?.();
    return await retryOnConflict(linkOnce, 'Others keep linking and unlinking the identity.');
  } catch (error) {
    await revokeIfRefused(error, login_user_id, place, verified);
    throw error;
  }
}

/** The identity of a person who has changed meanwhile, perhaps. */
async function identityOf(loginUserId: string, identityId: string): Promise<ShownIdentity | undefined> {
  const user = await readLoginUser(loginUserId);
  return user && (await ownIdentities(user)).find(({ id }) => id === identityId);
}

/**
 * An identity of a person as its provider has just vouched for it, with the token that came along; undefined when it was
 * unlinked meanwhile.
 */
async function asVerified(
  loginUserId: string,
  identity: ShownIdentity,
  place: TokenPlace,
  verified: VerifiedIdentity,
): Promise<ShownIdentity | undefined> {
  const { profile, told_by_app, revocableToken, code } = verified;
  const told = [told_by_app, revocableToken, code, identity.unverified];
  if (isDeepStrictEqual(identity.profile, profile) && told.every((one) => one === undefined)) return identity;
  const kept = await keepingToken(loginUserId, identity.id, place, verified);
  const { done } = await updateItem(loginUserItem(loginUserId), {
    set: { ...kept.set, ...attributesSaid(identity.id, verified) },
    copy: kept.copy,
    when: { ...whileExisting, [attributeOf(loginUserId, identity.id)]: { exists: true } },
  });
  return done ? identityOf(loginUserId, identity.id) : undefined;
}

/** Adds an identity to a person. Returns the others that they had linked then, which two requests at once see one after the other. */
async function addIdentity(
  loginUserId: string,
  identity: LinkedIdentity,
  { set, ...change }: { set: IdentityAttributes; remove: string[]; when: typeof whileExisting },
): Promise<LinkedIdentity[]> {
  const outcome = await updateItem(loginUserItem(loginUserId), {
    ...change,
    set: { [identityAttributes.linked(identity.identity_id)]: identity, ...set },
  });
  if (!outcome.done) {
    const { blocked_at, deleted_at } = outcome.found ?? {};
    if (blocked_at !== undefined && deleted_at === undefined) throw blockedError('forbidden');
    throw new ServiceError('invalid_token', 'The Login User has been deleted.');
  }
  const linked = linkedIdentitiesIn(outcome.before ?? outcome.after ?? {});
  return linked.filter(({ identity_id }) => identity_id !== identity.identity_id);
}

/**
 * Counts the linked identities that leave no room for another: those whose index items agree, and those whose links may be under
 * way. An interrupted link of the index item itself never counts, so that it can be repeated at once.
 */
async function countLinked(others: LinkedIdentity[], indexId: string): Promise<number> {
  const isConfirmed = await confirmedIds(others);
  const takesRoom = (identity: LinkedIdentity) =>
    isConfirmed.has(identity.identity_id) || (identity.slot !== indexId && isUnderWay(identity));
  return others.filter(takesRoom).length;
}

/** Takes an identity back that was added, but whose index item leads to somebody else. */
async function removeIdentity(loginUserId: string, identityId: string): Promise<void> {
  await updateItem(loginUserItem(loginUserId), {
    remove: attributesOf(identityId),
    when: { [identityAttributes.linked(identityId)]: { exists: true } },
  });
}

const tooMany = `The Login User has ${mostLinked} linked identities, which is the most. Unlink one first.`;
const belongsToAnother = 'The identity belongs to another Login User of this Login App.';
