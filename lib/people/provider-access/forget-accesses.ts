import { identityAttributes } from '../../login-users/linked-identity.ts';
import { loginUserIn } from '../../login-users/login-user.ts';
import type { ProviderId } from '../../providers/provider-ids.ts';
import { forEachInBatches } from '../../storage/batches.ts';
import type { Item } from '../../storage/items.ts';
import { forgetAccess } from '../identities/revoke-tokens.ts';
import { describeToken } from '../identities/stored-token.ts';

/**
 * Ends the access to providers that is kept of some people, and revokes their tokens.
 * @param people Login Users, as stored
 * @param provider undefined for all
 * @returns the number of tokens that are forgotten, and of those that could not be revoked
 */
export async function forgetAccesses(people: Item[], provider: ProviderId | undefined) {
  const numbers = { forgotten: 0, notRevoked: 0 };
  const owners = people.flatMap((item) => accessesOf(item, provider));
  await forEachInBatches(owners, async (owner) => {
    const outcome = await forgetAccess(owner);
    if (outcome !== undefined) numbers.forgotten += 1;
    if (outcome === 'not_revoked') numbers.notRevoked += 1;
  });
  return numbers;
}

/** The identities of a person with which access to a provider is kept. */
function accessesOf(item: Item, provider: ProviderId | undefined) {
  const { login_user_id = '', identities = [] } = loginUserIn(item) ?? {};
  const kept = identities.filter(({ identity_id, provider_access }) => {
    if (!provider_access) return false;
    const token = describeToken(item[identityAttributes.providerToken(identity_id)]);
    return provider === undefined || token.provider === provider;
  });
  return kept.map(({ identity_id }) => ({ login_user_id, identity_id }));
}
