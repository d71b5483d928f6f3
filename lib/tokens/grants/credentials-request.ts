import * as v from 'valibot';
import type { ProvenIdentity } from '../../login-users/identity.ts';
import { providerIds } from '../../provider-settings/identifiers.ts';
import { notSetUp } from '../../provider-settings/not-set-up.ts';
import { findProviderSettings } from '../../provider-settings/stored-settings.ts';
import { providers } from '../../providers/providers.ts';

/** The parameters depend on the provider's protocol family. */
export const providerCredentials = v.variant(
  'provider',
  providerIds.map((provider) => providers[provider].credentialOf(provider)),
);

export type CredentialsRequest = v.InferOutput<typeof providerCredentials>;

/** Whom a credential of a provider was issued for. @throws ServiceError, ProviderFailure */
export async function personOfCredentials(
  loginAppId: string,
  { provider, verify }: CredentialsRequest,
): Promise<ProvenIdentity> {
  const stored = await findProviderSettings(loginAppId, provider);
  if (!stored) throw notSetUp(provider);
  return verify(stored);
}
