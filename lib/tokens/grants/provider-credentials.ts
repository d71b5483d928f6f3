import * as v from 'valibot';
import { personOfCredential } from '../../identities/proven-person.ts';
import type { AuthenticatedClient } from '../../login-apps/clients.ts';
import { providerIds } from '../../provider-settings/identifiers.ts';
import { familyOf } from '../../providers/providers.ts';
import type { TokenResponse } from '../token-response.ts';
import { startSession } from './start-session.ts';

/** The form of the grant; its parameters depend on the provider's protocol family. */
export const providerCredentialsSchema = v.variant(
  'provider',
  providerIds.map((provider) => familyOf(provider).credentialOf(provider)),
);

/** Issues a Login User Token for a credential of a provider. @throws ServiceError, ProviderFailure */
export async function issueForProviderCredentials(
  client: AuthenticatedClient,
  request: v.InferOutput<typeof providerCredentialsSchema>,
): Promise<TokenResponse> {
  const person = await personOfCredential(client.loginAppId, request);
  return startSession(client, request.provider, person);
}
