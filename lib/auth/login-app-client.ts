import { note } from '../log.ts';
import { authenticateClient } from '../login-apps/authenticate-client.ts';
import { Refusal } from '../refusal.ts';
import { authentication, basicCredentials } from './credentials.ts';

/** Login App Client authentication: `client_id:client_secret` in HTTP Basic. @see RFC 6749 section 2.3.1 */
export const loginAppClient = authentication(async (headers) => {
  const credentials = basicCredentials(headers.authorization);
  if (!credentials) {
    throw new Refusal(
      'invalid_client',
      'Send the client id and the client secret with HTTP Basic authentication.',
    );
  }
  const client = await authenticateClient(credentials.user, credentials.password);
  if (!client) throw new Refusal('invalid_client', 'The client id and the client secret do not match.');
  note({ client_id: client.clientId, login_app_id: client.loginApp.login_app_id });
  return client;
});
