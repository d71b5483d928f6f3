import { addEventFor } from '../lib/access-requests/add-event.ts';
import { event } from '../lib/access-requests/event.ts';
import { eventParameters, reviewBody } from '../lib/access-requests/event-request.ts';
import { account } from '../lib/auth/account.ts';
import { created } from '../lib/http/answers.ts';
import { json } from '../lib/http/body.ts';
import { defineEndpoint } from '../lib/http/endpoint.ts';
import { serve } from '../lib/http/serve.ts';
import { invalidFields } from '../lib/validation.ts';

export const endpoint = defineEndpoint({
  method: 'POST',
  path: '/v1/rbac/access_requests/{access_request_id}/reviews',
  summary: 'Adds a review to an access request',
  description:
    'Adds a review, which approves or rejects, by an actor to an access request of the account. The comment may be left out. `actor_id` names the author in your own system; the service does not interpret it. Send an `Idempotency-Key` of your own: if the response is lost, the same request with the same key returns the same event for 24 hours instead of adding another.',
  tag: 'Access requests',
  authenticate: account,
  parameters: eventParameters,
  body: json(reviewBody, invalidFields),
  responses: {
    201: {
      description: 'The review, as a search returns it.',
      body: event,
      example: {
        id: 5,
        access_request_id: 1,
        type: 'review',
        actor_type: 'login_user',
        actor_id: '1001',
        comment: '',
        created_at: '2026-01-31T08:00:00.000Z',
        updated_at: '2026-01-31T08:00:00.000Z',
        status: 'approved',
      },
      links: {
        Find: {
          operationId: 'search-reviews',
          description: 'A search for the id returns the review.',
          parameters: { access_request_id: '$response.body#/access_request_id', ids: '$response.body#/id' },
        },
      },
    },
  },
  errors: {
    invalid_request: {
      when: 'The id of the access request or the Idempotency-Key is malformed, or the body is not a JSON object.',
      example: 'The body is not valid JSON.',
    },
    forbidden: {
      when: 'The account has no access to the access request, or there is none.',
      example: 'The account has no access to this access request.',
    },
    unprocessable_entity: {
      when: 'Fields of the body are invalid, or the Idempotency-Key was used for another request.',
      example: 'status must be approved or rejected.',
      errors: [{ field: 'status', message: 'status must be approved or rejected.' }],
    },
    temporarily_unavailable: {
      when: 'Too many are writing to this access request at once. Nothing was written: send the request again, with the same Idempotency-Key.',
      example: 'Too many are writing to this access request at once; send the request again.',
    },
  },
  table: {
    GetItem: ['accounts', 'access_requests'],
    BatchGetItem: ['access_requests'],
    Query: ['access_requests'],
    PutItem: ['access_requests'],
  },
  secrets: [],
  example: {
    path: { access_request_id: '1' },
    body: { actor_type: 'login_user', actor_id: '1001', status: 'approved', comment: '' },
  },
  handle: async ({ caller, path, headers, body }) =>
    created(await addEventFor(caller.account_id, path.access_request_id, body, headers['idempotency-key'])),
});

export const handler = serve(endpoint);
