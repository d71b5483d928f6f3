import * as v from 'valibot';
import { findProviderSettings } from '../../login-apps/provider-settings.ts';
import { providerIds } from '../../providers/identifiers.ts';
import type { ProvenIdentity } from '../../providers/identity.ts';
import { notSetUp } from '../../providers/not-set-up.ts';
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
