import type { LogReason } from '../../foundation/reasons.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import { annotateLog } from '../../log/request-fields.ts';
import { type AuthenticatedClient, findCurrentClient } from '../../login-apps/clients.ts';
import { readAccessTokenFor } from '../../tokens/access-token.ts';
import type { Authentication } from '../endpoint.ts';
import { clientSecretBasic } from './client-secret-basic.ts';
import { isBearer, requiredBearerToken } from './credentials.ts';

const invalidToken = 'The token is not a valid token with the scope recipients.';

/** Authentication of a client by its secret, or by a token with the scope `recipients`. */
export const sender: Authentication<AuthenticatedClient> = {
  ...clientSecretBasic,
  alternative: 'recipients_token',
  furtherErrors: {
    invalid_token: {
      when: 'A token was sent, but it is expired, of another kind, or its client is revoked.',
      example: invalidToken,
    },
  },
  table: { login_apps: ['GetItem'], signing_keys: ['GetItem'] },
  identify: async (headers, form) =>
    isBearer(headers.authorization)
      ? clientOfToken(headers.authorization)
      : clientSecretBasic.identify(headers, form),
};

/**
 * The client that a token with the scope `recipients` was issued to.
 * @throws ServiceError `invalid_token`, whose challenge is that of tokens
 * @see RFC 6750, section 3
 */
async function clientOfToken(header: string | undefined): Promise<AuthenticatedClient> {
  const token = requiredBearerToken('token with the scope recipients', [header]);
  const { claims, reason } = await readAccessTokenFor('recipients', token);
  if (!claims) throw notValid(reason);
  annotateLog({ client_id: claims.client_id, login_app_id: claims.aud });
  const client = await findCurrentClient(claims.client_id);
  if (!client) throw notValid('id_unknown');
  return client;
}

const notValid = (reason: LogReason | undefined): ServiceError =>
  new ServiceError('invalid_token', invalidToken, reason);
