import { loginAppClient } from '../lib/auth/login-app-client.ts';
import { ok } from '../lib/http/answers.ts';
import { form } from '../lib/http/body.ts';
import { defineEndpoint } from '../lib/http/endpoint.ts';
import { serve } from '../lib/http/serve.ts';
import { introspection, introspectToken } from '../lib/tokens/introspect-token.ts';
import { introspectionPath } from '../lib/tokens/paths.ts';
import { tokenParameter } from '../lib/tokens/presented-token.ts';
import { refuseAsInvalidRequest } from '../lib/validation.ts';

export const endpoint = defineEndpoint({
  method: 'POST',
  path: introspectionPath,
  summary: 'Says whether a token of the Login App is active (RFC 7662)',
  authenticate: loginAppClient,
  body: form(tokenParameter, refuseAsInvalidRequest),
  responses: { 200: { description: 'What the token says if it is active.', body: introspection } },
  errors: { invalid_request: 'The token is missing, empty or repeated.' },
  tableActions: ['GetItem', 'BatchGetItem', 'Query'],
  secrets: ['service-secret'],
  example: { body: { token: 'ACCESS_TOKEN' } },
  handle: async ({ caller, body }) => ok(await introspectToken(caller, body.token)),
});

export const handler = serve(endpoint);
