import {
  createAccessRequestFor,
  newAccessRequestSchema,
} from '../lib/access-requests/create-access-request.ts';
import { idempotencyKeySchema } from '../lib/access-requests/idempotency.ts';
import { writingAccount } from '../lib/http/auth/account.ts';
import { created, serve } from '../lib/http/serve.ts';

export const { endpoint, handler } = serve({
  method: 'POST',
  path: '/v1/rbac/access_requests',
  summary: 'Creates an access request that the account has access to',
  description:
    'Creates an empty access request. The account that creates it has access; the operator can give access to others. Send an `Idempotency-Key` of your own: if the response is lost, the same key returns the same access request for 24 hours instead of creating another.',
  tag: 'Access requests',
  authenticate: writingAccount,
  parameters: { headers: { 'idempotency-key': idempotencyKeySchema } },
  responses: {
    201: {
      description: 'The new access request.',
      body: newAccessRequestSchema,
      example: { id: 2, created_at: '2026-01-31T08:00:00.000Z' },
      links: {
        AddComment: {
          operationId: 'add-comment',
          description: 'Its id is where comments are added.',
          parameters: { access_request_id: '$response.body#/id' },
        },
        AddReview: {
          operationId: 'add-review',
          description: 'Its id is where reviews are added.',
          parameters: { access_request_id: '$response.body#/id' },
        },
        Search: {
          operationId: 'search-events',
          description: 'Its id is where its comments and reviews are found.',
          parameters: { access_request_id: '$response.body#/id' },
        },
      },
    },
  },
  errors: {
    invalid_request: {
      when: 'The Idempotency-Key is malformed.',
      example: 'The header Idempotency-Key must have 1 to 255 characters.',
    },
    forbidden: { when: 'The account may only read.', example: 'The account may only read.' },
  },
  table: {
    GetItem: ['accounts', 'access_requests'],
    BatchGetItem: ['access_requests'],
    PutItem: ['access_requests'],
    UpdateItem: ['accounts', 'access_requests'],
  },
  idIs: 'access_request_id',
  handle: async ({ caller, headers }) =>
    created(await createAccessRequestFor(caller.account_id, headers['idempotency-key'])),
});
