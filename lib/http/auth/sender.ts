import { ServiceError } from '../../foundation/service-error.ts';
import { annotateLog } from '../../log/request-fields.ts';
import { type AuthenticatedClient, findCurrentClient } from '../../login-apps/clients.ts';
import { readAccessToken } from '../../tokens/access-token.ts';
import type { Authentication } from '../endpoint.ts';
import { clientSecretBasic } from './client-secret-basic.ts';
import { bearerToken } from './credentials.ts';

/** Authentication of a client by its secret, or by a token with the scope `recipients`. */
export const sender: Authentication<AuthenticatedClient> = {
  ...clientSecretBasic,
  alternative: 'recipients_token',
  table: { login_apps: ['GetItem'], signing_keys: ['GetItem'] },
  identify: async (headers, form) => {
    const token = bearerToken(headers.authorization);
    if (token === undefined) return clientSecretBasic.identify(headers, form);
    const { claims } = await readAccessToken(token);
    const isForRecipients = claims?.token_use === 'recipients';
    if (isForRecipients) annotateLog({ client_id: claims.client_id, login_app_id: claims.aud });
    const client = isForRecipients && (await findCurrentClient(claims.client_id));
    if (client) return client;
    const message = 'The token is no valid one with the scope recipients.';
    throw new ServiceError('invalid_client', message, isForRecipients ? 'id_unknown' : 'claim_invalid');
  },
};
