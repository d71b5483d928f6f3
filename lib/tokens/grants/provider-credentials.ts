import * as v from 'valibot';
import type { AuthenticatedClient } from '../../login-apps/clients.ts';
import { findProviderSettings } from '../../login-apps/provider-settings.ts';
import { logIn } from '../../login-users/log-in.ts';
import { providerIds } from '../../providers/identifiers.ts';
import { notSetUp } from '../../providers/not-set-up.ts';
import { providers } from '../../providers/providers.ts';
import { loginUserTokenOf, type TokenResponse } from '../token-response.ts';

/** The parameters depend on the provider's protocol family. */
export const providerCredentials = v.variant(
  'provider',
  providerIds.map((provider) => providers[provider].credentialOf(provider)),
);

/** Issues a Login User Token for a credential of a provider. @throws ServiceError, ProviderFailure */
export async function issueForProviderCredentials(
  client: AuthenticatedClient,
  { provider, verify }: v.InferOutput<typeof providerCredentials>,
): Promise<TokenResponse> {
  const stored = await findProviderSettings(client.loginAppId, provider);
  if (!stored) throw notSetUp(provider);
  return loginUserTokenOf(await logIn(client, provider, await verify(stored)));
}
