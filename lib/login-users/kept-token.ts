import type { ProviderId } from '../providers/identifiers.ts';
import type { ProvenIdentity } from '../providers/identity.ts';
import { encryptSecrets } from '../providers/settings-encryption.ts';
import { identityAttributes } from './linked-identity.ts';

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
