import { ServiceError } from '../../foundation/service-error.ts';
import { identityAttributes, type ProviderAccess } from '../../login-users/linked-identity.ts';
import { blockedError, loginUserIn } from '../../login-users/login-user.ts';
import type { ProviderId } from '../../providers/provider-ids.ts';
import type { Item } from '../../storage/items.ts';
import type { Owner } from '../identities/identity-index.ts';
import { decryptToken, type StoredProviderToken } from '../identities/stored-token.ts';

/** Seconds by which the clocks of two functions may differ. */
export const clockLeeway = 5;

/** An identity of a person, with the provider that gave the token. */
export interface AccessOwner extends Owner {
  provider: ProviderId;
}

/** A stored provider token that is kept to be used. */
export type KeptToken = StoredProviderToken & { access: ProviderAccess };

/**
 * The provider token that is kept with an identity.
 * @param item the Login User, as stored
 * @throws ServiceError `invalid_grant` when the person is blocked, or no token is kept: they have
 *   lost the identity, or the provider has ended the grant
 */
export async function readKept(
  item: Item | undefined,
  { identity_id, provider }: AccessOwner,
): Promise<KeptToken> {
  const user = loginUserIn(item);
  if (user?.blocked_at) throw blockedError('invalid_grant');
  const isTheirs = user?.identities.some((identity) => identity.identity_id === identity_id);
  const stored = item?.[identityAttributes.providerToken(identity_id)];
  if (!user || !isTheirs || stored === undefined) throw loginNeeded(provider);
  const { access, ...token } = await decryptToken(stored, user.login_app_id);
  if (!access) throw loginNeeded(provider);
  return { ...token, access };
}

/** The error for a person of whom no token of the provider is kept. */
export const loginNeeded = (provider: ProviderId): ServiceError =>
  new ServiceError(
    'invalid_grant',
    `The person has to log in again with ${provider}.`,
    'no_provider_access',
  );
