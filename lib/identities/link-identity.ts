import { timestamp } from '../clock.ts';
import { ServiceError } from '../errors/service-error.ts';
import { newId } from '../ids.ts';
import { logEvent } from '../log/log.ts';
import { blockedError } from '../login-users/blocked.ts';
import type { ProvenIdentity } from '../login-users/identity.ts';
import {
  attributesOf,
  type IdentityAttributes,
  identityAttributes,
  type LinkedIdentity,
  linkedIdentitiesIn,
} from '../login-users/linked-identity.ts';
import {
  firstIdentityId,
  type LoginUser,
  type LoginUserItem,
  readLoginUser,
  whileActive,
} from '../login-users/login-user.ts';
import type { ProviderId } from '../provider-settings/identifiers.ts';
import { updateItem } from '../storage/items.ts';
import { loginUserKey } from '../storage/keys.ts';
import { untilWritten } from '../storage/until-written.ts';
import { keptTokenOf } from './kept-token.ts';
import { ownIdentities, type ShownIdentity } from './own-identities.ts';
import { claimSlot, confirmedOwner, findSlot } from './slot.ts';

/** The most identities that a person may have linked. Each login reads them all. */
const mostLinked = 20;

/** An identity of a person, and whether it has just been linked. */
interface Linked {
  isNew: boolean;
  identity: ShownIdentity;
}

/**
 * Links an identity, which its provider has just vouched for, to a Login User. Two conditional writes: the attribute of
 * the Login User, then the slot of the identity, which only one of several people gets.
 * @throws ServiceError `conflict` when the identity belongs to another Login User or they have too many, `forbidden`
 *   when the Login User has been blocked meanwhile, `invalid_token` when they have been deleted
 */
export async function linkIdentity(
  { login_user_id, login_app_id }: LoginUser,
  provider: ProviderId,
  proven: ProvenIdentity,
): Promise<Linked> {
  return untilWritten(async () => {
    const slot = await findSlot(login_app_id, proven);
    const owner = await confirmedOwner(slot);
    if (owner && owner.loginUserId !== login_user_id) throw belongsToAnother();
    if (owner) {
      const identity = await identityOf(login_user_id, owner.identityId ?? firstIdentityId(login_user_id));
      return identity && { isNew: false, identity };
    }
    const { namespace, subject } = proven;
    const identity_id = newId('i');
    const linked_at = timestamp();
    const kept = await keptTokenOf(login_app_id, provider, proven, identity_id);
    const identity = { identity_id, slot: slot.id, provider, namespace, subject, linked_at };
    const others = await addIdentity(login_user_id, identity, kept);
    if (others >= mostLinked) {
      await removeIdentity(login_user_id, identity_id);
      throw tooMany();
    }
    if (await claimSlot(slot, login_user_id, identity_id)) {
      logEvent('identity_linked', { login_user_id, identity_id, provider });
      return { isNew: true, identity: { id: identity_id, provider, linked_at } };
    }
    await removeIdentity(login_user_id, identity_id);
    return undefined;
  }, 'Others keep linking and unlinking the identity.');
}

/** The identity of a person who has changed meanwhile, perhaps. */
async function identityOf(loginUserId: string, identityId: string): Promise<ShownIdentity | undefined> {
  const user = await readLoginUser(loginUserId);
  return user && (await ownIdentities(user)).find(({ id }) => id === identityId);
}

/** Adds an identity to a person. Returns how many others they had linked then, which two requests at once see one after the other. */
async function addIdentity(
  loginUserId: string,
  identity: LinkedIdentity,
  kept: IdentityAttributes,
): Promise<number> {
  const outcome = await updateItem<LoginUserItem>(loginUserKey(loginUserId), {
    set: { [identityAttributes.linked(identity.identity_id)]: identity, ...kept },
    when: whileActive,
  });
  if (!outcome.done) {
    const { blocked_at, deleted_at } = outcome.found ?? {};
    if (blocked_at !== undefined && deleted_at === undefined) throw blockedError('forbidden');
    throw new ServiceError('invalid_token', 'The Login User has been deleted.');
  }
  const linked = linkedIdentitiesIn(outcome.before ?? outcome.after ?? {});
  return linked.filter(({ identity_id }) => identity_id !== identity.identity_id).length;
}

const removeIdentity = (loginUserId: string, identityId: string) =>
  updateItem<LoginUserItem>(loginUserKey(loginUserId), {
    remove: attributesOf(identityId),
    when: { [identityAttributes.linked(identityId)]: { exists: true } },
  });

const tooMany = (): ServiceError =>
  new ServiceError(
    'conflict',
    `The Login User has ${mostLinked} linked identities, which is the most. Unlink one first.`,
  );

const belongsToAnother = (): ServiceError =>
  new ServiceError('conflict', 'The identity belongs to another Login User of this Login App.');
