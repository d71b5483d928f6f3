import type { ProvenIdentity } from '../login-users/identity.ts';
import { identityAttributes } from '../login-users/linked-identity.ts';
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
): Promise<Record<string, object>> {
  if (revocableToken === undefined) return {};
  const token = { provider, token_secret: revocableToken };
  return {
    [identityAttributes.keptToken(identityId)]: await encryptSecrets(token, { loginAppId, provider }),
  };
}
