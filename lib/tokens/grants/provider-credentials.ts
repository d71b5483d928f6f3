import * as v from 'valibot';
import type { AuthenticatedClient } from '../../login-apps/clients.ts';
import { personOfCredential } from '../../providers/proven-person.ts';
import { providerIds } from '../../providers/provider-ids.ts';
import { familyOf } from '../../providers/providers.ts';
import { startSession } from '../start-session.ts';
import type { TokenResponse } from '../token-response.ts';

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
