import { annotateLog } from '../../log/request-fields.ts';
import { type AuthenticatedClient, authenticateClient } from '../../login-apps/clients.ts';
import type { Authentication } from '../endpoint.ts';
import { basicCaller, mismatch } from './credentials.ts';

/** Authentication of clients by `client_id:client_secret` in HTTP Basic alone. @see RFC 6749 section 2.3.1 */
export const clientSecretBasic: Authentication<AuthenticatedClient> = {
  scheme: 'login_app_client',
  error: {
    code: 'invalid_client',
    when: 'The client id or the client secret, or the credential in their place, is missing or wrong.',
    example: mismatch('client'),
  },
  table: { login_apps: ['GetItem'] },
  identify: async ({ authorization }) => {
    const client = await basicCaller('client', authorization, authenticateClient);
    annotateLog({ login_app_id: client.loginAppId });
    return client;
  },
};
