import * as v from 'valibot';
import { parameters } from '../../schema/form-parameters.ts';
import { grant } from '../grant.ts';
import { loginAppTokenOf } from '../token-response.ts';

const grant_type = 'client_credentials';

/** The client's own credentials. @see RFC 6749 section 4.4 */
export const clientCredentials = grant({
  grant_type,
  token_use: 'login_app',
  schema: v.pipe(parameters({ grant_type: v.literal(grant_type) }), v.title('ClientCredentialsGrant')),
  issue: ({ loginAppId, clientId }) => loginAppTokenOf(loginAppId, clientId),
});
