import { loginAppClient } from '../lib/auth/login-app-client.ts';
import { ok } from '../lib/http/answers.ts';
import { form } from '../lib/http/body.ts';
import { defineEndpoint } from '../lib/http/endpoint.ts';
import { serve } from '../lib/http/serve.ts';
import { issueToken, refuseTokenRequest, tokenRequest } from '../lib/tokens/issue-token.ts';
import { tokenPath } from '../lib/tokens/paths.ts';
import { tokenResponse } from '../lib/tokens/token-response.ts';

export const endpoint = defineEndpoint({
  method: 'POST',
  path: tokenPath,
  summary: 'Issues tokens for a provider credential, a refresh token or client credentials',
  authenticate: loginAppClient,
  body: form(tokenRequest, refuseTokenRequest),
  responses: { 200: { description: 'The tokens.', body: tokenResponse } },
  errors: {
    invalid_request:
      'A parameter is missing, empty, repeated, forbidden or malformed; the description names it.',
    unsupported_grant_type: 'There is no such grant type.',
    invalid_grant: 'The credential, the code or the refresh token is not accepted, or the person is blocked.',
  },
  errorEvent: 'token_refused',
  tableActions: ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'],
  secrets: ['signing-keys', 'service-secret'],
  example: {
    body: {
      grant_type: 'provider_credentials',
      provider: 'provider_a',
      access_token: 'PROVIDER_ACCESS_TOKEN',
    },
  },
  handle: async ({ caller, body }) => ok(await issueToken(caller, body)),
});

export const handler = serve(endpoint);
