import * as v from 'valibot';
import { loginAppClient } from '../lib/auth/login-app-client.ts';
import { ok } from '../lib/http/answers.ts';
import { form } from '../lib/http/body.ts';
import { defineEndpoint } from '../lib/http/endpoint.ts';
import { serve } from '../lib/http/serve.ts';
import { revocationPath } from '../lib/tokens/paths.ts';
import { tokenParameter } from '../lib/tokens/presented-token.ts';
import { revokeToken } from '../lib/tokens/revoke-token.ts';
import { refuseAsInvalidRequest } from '../lib/validation.ts';

export const endpoint = defineEndpoint({
  method: 'POST',
  path: revocationPath,
  summary: 'Ends the session of a refresh token or access token (RFC 7009)',
  authenticate: loginAppClient,
  body: form(tokenParameter, refuseAsInvalidRequest),
  responses: {
    200: { description: 'The token is not valid, whether or not it was before.', body: v.object({}) },
  },
  errors: {
    invalid_request: 'The token is missing, empty or repeated, or was issued to another client.',
    unsupported_token_type: 'A Login App Token cannot be revoked here.',
  },
  tableActions: ['GetItem', 'BatchGetItem', 'Query', 'UpdateItem'],
  secrets: ['service-secret'],
  example: { body: { token: 'REFRESH_TOKEN' } },
  handle: async ({ caller, body }) => {
    await revokeToken(caller, body.token);
    return ok({});
  },
});

export const handler = serve(endpoint);
