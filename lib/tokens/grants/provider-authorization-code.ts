import * as v from 'valibot';
import type { AuthenticatedClient } from '../../login-apps/clients.ts';
import { codeParameters } from '../../providers/code-parameters.ts';
import { personOfCode } from '../../providers/proven-person.ts';
import { parameters } from '../../schema/form-parameters.ts';
import { startSession } from '../start-session.ts';
import type { TokenResponse } from '../token-response.ts';

/** The form of the grant. */
export const providerAuthorizationCodeSchema = v.pipe(
  parameters({ grant_type: v.literal('provider_authorization_code'), ...codeParameters }),
  v.title('AuthorizationCodeGrant'),
);

/** Issues a Login User Token for an authorization code of a provider. @throws ServiceError, ProviderFailure */
export async function issueForAuthorizationCode(
  client: AuthenticatedClient,
  request: v.InferOutput<typeof providerAuthorizationCodeSchema>,
): Promise<TokenResponse> {
  const person = await personOfCode(client.loginAppId, request);
  return startSession(client, request.provider, person);
}
