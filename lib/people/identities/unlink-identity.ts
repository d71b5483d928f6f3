import { ServiceError } from '../../foundation/service-error.ts';
import { logEvent } from '../../log/log.ts';
import {
  attributesWithoutToken,
  firstIdentityId,
  identityAttributes,
} from '../../login-users/linked-identity.ts';
import {
  blockedError,
  type LoginUserItem,
  loginUserItem,
  newIndexId,
  readLoginUser,
  whileActive,
  whileExisting,
} from '../../login-users/login-user.ts';
import type { Change } from '../../storage/expressions.ts';
import { readItem, updateItem } from '../../storage/items.ts';
import { retryOnConflict } from '../../storage/retry-on-conflict.ts';
import { attributesLeft, ownIdentities } from './identities-of-person.ts';
import { releaseIdentity } from './identity-index.ts';
import { revokeStoredTokens } from './provider-tokens.ts';

/**
 * Unlinks an identity from a Login User, on the condition that another one remains.
 * @param options.byOperator unlinks it from a blocked person too
 * @param options.evenLast unlinks it even if no other one remains
 * @throws ServiceError `not_found` when the person has no such identity, `unprocessable_entity` for their last one,
 *   `forbidden` when they have been blocked meanwhile
 */
export async function unlinkIdentity(
  loginUserId: string,
  identityId: string,
  { byOperator = false, evenLast = false } = {},
): Promise<void> {
  await retryOnConflict(async () => {
    const user = await readLoginUser(loginUserId);
    const identities = user ? await ownIdentities(user) : [];
    if (!identities.some(({ id }) => id === identityId))
      throw new ServiceError('not_found', 'The Login User has no such identity.');
    const other = identities.find(({ id }) => id !== identityId);
    if (!(other || evenLast))
      throw new ServiceError('unprocessable_entity', last, {
        errors: [{ field: 'identity_id', message: last }],
      });
    const { remove, ...change } = withoutIdentity(loginUserId, identityId);
    const left = attributesLeft(user?.linked ?? [], new Set(identities.map(({ id }) => id)));
    const outcome = await updateItem(loginUserItem(loginUserId), {
      ...change,
      remove: [...remove, ...left],
      when: {
        ...(byOperator ? whileExisting : whileActive),
        [attributeOf(loginUserId, identityId)]: { exists: true },
        ...(other && { [attributeOf(loginUserId, other.id)]: { exists: true } }),
      },
    });
    if (!outcome.done) {
      if (outcome.found?.blocked_at !== undefined && !byOperator) throw blockedError('forbidden');
      return undefined;
    }
    const slot = user?.linked.find(({ identity_id }) => identity_id === identityId)?.slot;
    if (slot !== undefined) await releaseIdentity(slot, identityId);
    logEvent('identity_unlinked', { login_user_id: loginUserId, identity_id: identityId });
    // As it is now. A token that is not revoked stays, and `login-users retry-revocations` or the deletion tries again.
    const item = await readItem(loginUserItem(loginUserId));
    if (item) await revokeStoredTokens(item);
    return true;
  }, 'The person keeps changing their identities.');
}

/**
 * The first identity goes on at an index item of its own, since its own index item is that of the Login User who lives on. The
 * provider's token stays until it is revoked.
 */
const withoutIdentity = (
  loginUserId: string,
  identityId: string,
): Change<LoginUserItem> & { remove: string[] } =>
  identityId === firstIdentityId(loginUserId)
    ? {
        remove: ['provider', 'namespace', 'subject', ...attributesWithoutToken(identityId)],
        set: { next_slot: newIndexId() },
      }
    : { remove: attributesWithoutToken(identityId) };

/** The attribute of a Login User that exists as long as they have an identity. */
export const attributeOf = (loginUserId: string, identityId: string): string =>
  identityId === firstIdentityId(loginUserId) ? 'subject' : identityAttributes.linked(identityId);

const last =
  'The last identity cannot be unlinked: nobody could log in any longer. Delete the account instead.';
