import { authenticateClient } from '../../login-apps/clients.ts';
import { basicAuthentication } from './credentials.ts';

/** Authentication of clients by `client_id:client_secret` in HTTP Basic alone. @see RFC 6749 section 2.3.1 */
export const clientSecretBasic = basicAuthentication({
  scheme: 'login_app_client',
  whose: 'client',
  error: 'invalid_client',
  when: 'The client id or the client secret, or the credential in their place, is missing or wrong.',
  find: authenticateClient,
  table: { login_apps: ['GetItem'] },
  idForm: 'la_….c_…',
  noted: ({ clientId, loginAppId }) => ({ client_id: clientId, login_app_id: loginAppId }),
});
