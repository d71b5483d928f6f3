import type { ProvenIdentity } from '../login-users/identity.ts';
import { type IdentityAttributes, identityAttributes } from '../login-users/linked-identity.ts';
import type { ProviderId } from '../provider-settings/identifiers.ts';
import { encryptSecrets } from '../provider-settings/settings-encryption.ts';

/**
 * The attribute of a Login User that keeps a provider's refresh token, encrypted, so that it can be revoked when the
 * person is deleted; none where the login gave us no such token.
 */
export async function keptTokenOf(
  loginAppId: string,
  provider: ProviderId,
  { revocableToken }: ProvenIdentity,
  identityId: string,
): Promise<IdentityAttributes> {
  const kept: IdentityAttributes = {};
  if (revocableToken === undefined) return kept;
  const token = { provider, token_secret: revocableToken };
  kept[identityAttributes.keptToken(identityId)] = await encryptSecrets(token, { loginAppId, provider });
  return kept;
}
