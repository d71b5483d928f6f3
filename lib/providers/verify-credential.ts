import type { VerifiedIdentity } from '../login-users/identity.ts';
import { notSetUp } from './not-set-up.ts';
import type { Credential } from './protocol.ts';
import { findProviderSettings } from './settings/stored.ts';

/**
 * Verifies a credential by the settings of its provider in a Login App.
 * @returns the person for whom the provider issued it
 * @throws ServiceError, ProviderFailure
 */
export async function verifyCredential(
  loginAppId: string,
  { provider, verify }: Credential,
): Promise<VerifiedIdentity> {
  const stored = await findProviderSettings(loginAppId, provider);
  const identity = stored && (await verify(stored));
  if (!identity) throw notSetUp(provider);
  return identity;
}
