import { createAccessRequestFor, newAccessRequest } from '../lib/access-requests/create-access-request.ts';
import { idempotencyKey } from '../lib/access-requests/idempotency.ts';
import { account } from '../lib/auth/account.ts';
import { created } from '../lib/http/answers.ts';
import { defineEndpoint } from '../lib/http/endpoint.ts';
import { serve } from '../lib/http/serve.ts';

export const endpoint = defineEndpoint({
  method: 'POST',
  path: '/v1/rbac/access_requests',
  summary: 'Creates an access request that the account has access to',
  authenticate: account,
  parameters: { headers: { 'idempotency-key': idempotencyKey } },
  responses: { 201: { description: 'The new access request.', body: newAccessRequest } },
  errors: {
    invalid_request: 'The Idempotency-Key is malformed.',
    temporarily_unavailable: 'Too many access requests are created at once. None was created.',
  },
  tableActions: ['GetItem', 'Query', 'PutItem', 'UpdateItem'],
  secrets: [],
  example: {},
  handle: async ({ caller, headers }) =>
    created(await createAccessRequestFor(caller.account_id, headers['idempotency-key'])),
});

export const handler = serve(endpoint);
