import { ServiceError } from '../../foundation/service-error.ts';
import { annotateLog } from '../../log/request-fields.ts';
import {
  type AuthenticatedClient,
  authenticateClient,
  findPublicClient,
} from '../../login-apps/clients.ts';
import type { Authentication } from '../endpoint.ts';
import { basicCaller, mismatch } from './credentials.ts';

/**
 * Authentication of clients by `client_id:client_secret` in HTTP Basic alone.
 * @see RFC 6749 section 2.3.1
 */
export const clientSecretBasic: Authentication<AuthenticatedClient> = {
  scheme: 'login_app_client',
  error: {
    code: 'invalid_client',
    when: 'The client id or the client secret, or the credential in their place, is missing or wrong.',
    example: mismatch('client'),
  },
  table: { login_apps: ['GetItem'] },
  identify: async ({ authorization }) => {
    const client = await basicCaller('client', authorization, findClient);
    annotateLog({ login_app_id: client.loginAppId });
    return client;
  },
};

/**
 * The client with an id and a secret, or the reason why they are not accepted.
 * @throws ServiceError for a public client
 */
async function findClient(id: string, secret: string) {
  const client = await authenticateClient(id, secret);
  // The developer of a phone must not look for a secret.
  if (client === 'secret_wrong' && (await findPublicClient(id))) {
    annotateLog({ client_id: id });
    throw new ServiceError('invalid_client', isPublic, client);
  }
  return client;
}

const isPublic =
  'The client is public: it has no secret. Where it may call, it sends client_id in the form, and no Authorization.';
