import {
  attributesWithoutToken,
  identitiesIn,
  identityAttributes,
} from '../../login-users/linked-identity.ts';
import { loginUserItem } from '../../login-users/login-user.ts';
import { readItem, updateItem } from '../../storage/items.ts';
import type { Owner } from '../identities/identity-index.ts';
import { retryRevocations } from '../identities/revoke-tokens.ts';

/**
 * Removes what an interrupted link of 1.0.0 has left of an identity: the attributes of a person to
 * whom its index item does not lead. 1.0.0 wrote the two one after the other.
 * @returns whether there was anything to remove
 */
export async function removeLeftoverLink({ login_user_id, identity_id }: Owner): Promise<boolean> {
  const isLeftover = await leadsElsewhere({ login_user_id, identity_id });
  if (isLeftover) {
    await updateItem(loginUserItem(login_user_id), {
      remove: attributesWithoutToken(identity_id),
      when: { [identityAttributes.linked(identity_id)]: { exists: true } },
    });
  }
  // The provider's token may have come with the link.
  await retryRevocations(login_user_id);
  return isLeftover;
}

/** Whether a person has a linked identity, but its index item does not lead to it. */
async function leadsElsewhere({ login_user_id, identity_id }: Owner): Promise<boolean> {
  const item = await readItem(loginUserItem(login_user_id));
  if (!item) return false;
  const identity = identitiesIn(item).find((one) => one.identity_id === identity_id);
  if (identity?.slot === undefined) return false;
  const indexItem = await readItem(loginUserItem(identity.slot));
  return indexItem?.identity_id !== identity_id;
}
