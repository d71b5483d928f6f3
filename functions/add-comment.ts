import { addEventFor } from '../lib/access-requests/add-event.ts';
import { event } from '../lib/access-requests/event.ts';
import { commentBody, eventParameters } from '../lib/access-requests/event-request.ts';
import { account } from '../lib/auth/account.ts';
import { created } from '../lib/http/answers.ts';
import { json } from '../lib/http/body.ts';
import { defineEndpoint } from '../lib/http/endpoint.ts';
import { serve } from '../lib/http/serve.ts';
import { refuseFields } from '../lib/validation.ts';

export const endpoint = defineEndpoint({
  method: 'POST',
  path: '/v1/rbac/access_requests/{access_request_id}/comments',
  summary: 'Adds a comment to an access request',
  authenticate: account,
  parameters: eventParameters,
  body: json(commentBody, refuseFields),
  responses: { 201: { description: 'The comment, as a search returns it.', body: event } },
  errors: {
    invalid_request:
      'The id of the access request or the Idempotency-Key is malformed, or the body is no JSON object.',
    forbidden: 'The account has no access to the access request, or there is none.',
    unprocessable_entity:
      'Fields of the body are invalid, or the Idempotency-Key was used for another request.',
    temporarily_unavailable: 'Too many are writing to this access request at once. Nothing was written.',
  },
  tableActions: ['GetItem', 'BatchGetItem', 'Query', 'PutItem'],
  secrets: [],
  example: {
    path: { access_request_id: '1' },
    body: { actor_type: 'login_user', actor_id: '1001', comment: 'Looks good.' },
  },
  handle: async ({ caller, path, headers, body }) =>
    created(await addEventFor(caller.account_id, path.access_request_id, body, headers['idempotency-key'])),
});

export const handler = serve(endpoint);
