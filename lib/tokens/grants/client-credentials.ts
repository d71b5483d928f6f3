import * as v from 'valibot';
import type { AuthenticatedClient } from '../../login-apps/clients.ts';
import { parameters } from '../../schema/form-parameters.ts';
import { loginAppTokenOf, type TokenResponse } from '../token-response.ts';

/** @see RFC 6749 section 4.4 */
export const clientCredentialsSchema = v.pipe(
  parameters({ grant_type: v.literal('client_credentials') }),
  v.title('ClientCredentialsGrant'),
);

/** Issues a Login App Token for the client itself. */
export const issueForClientCredentials = ({
  clientId,
  loginAppId,
}: AuthenticatedClient): Promise<TokenResponse> => loginAppTokenOf(loginAppId, clientId);
