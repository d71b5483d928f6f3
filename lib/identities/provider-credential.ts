import type { ProvenIdentity } from '../login-users/identity.ts';
import { notSetUp } from '../provider-settings/not-set-up.ts';
import { findProviderSettings } from '../provider-settings/stored-settings.ts';
import { type Credential, verifyCredential } from '../providers/providers.ts';

/** The person for whom a credential of a provider was issued. @throws ServiceError, ProviderFailure */
export async function personOfCredential(
  loginAppId: string,
  credential: Credential,
): Promise<ProvenIdentity> {
  const stored = await findProviderSettings(loginAppId, credential.provider);
  if (!stored) throw notSetUp(credential.provider);
  return verifyCredential(stored, credential);
}
