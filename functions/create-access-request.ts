import {
  accessRequestBodySchema,
  createAccessRequestFor,
} from '../lib/access-requests/create-access-request.ts';
import { idempotencyKeySchema } from '../lib/access-requests/idempotency.ts';
import { oneAccessRequestSchema } from '../lib/access-requests/shown-access-request.ts';
import { writingAccount } from '../lib/http/auth/account.ts';
import { json } from '../lib/http/body.ts';
import { created, serve } from '../lib/http/serve.ts';
import { invalidFields } from '../lib/schema/validation.ts';

const linkTo = (operationId: string, description: string) => ({
  operationId,
  description,
  parameters: { access_request_id: '$response.body#/id' },
});

export const { endpoint, handler } = serve({
  route: 'POST /v1/rbac/access_requests',
  authenticate: writingAccount,
  parameters: { headers: { 'idempotency-key': idempotencyKeySchema } },
  body: { ...json(accessRequestBodySchema, invalidFields), isOptional: true },
  table: {
    accounts: ['PutItem'],
    access_requests: ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem'],
    access_request_lists: ['PutItem'],
  },
  idIs: 'access_request_id',
  handle: async ({ caller, headers, body }) =>
    created(await createAccessRequestFor(caller.account_id, body, headers['idempotency-key'])),
  document: !process.env.BUNDLED && {
    summary: 'Creates an access request that the account has access to',
    description:
      'Creates an access request without events. The account that creates it has access; the operator can give access to others. All fields are optional. With `approvals_needed` or `expires_at`, its reviews decide it: approved by so many different actors, rejected by the first rejection, or expired. Send an `Idempotency-Key` of your own: if the response is lost, the same key returns the same access request for 24 hours instead of creating another.',
    tag: 'Access requests',
    responses: {
      201: {
        description: 'The new access request, as GET shows it.',
        body: oneAccessRequestSchema,
        example: {
          id: 2,
          title: 'Raise the limit of customer 7',
          requested_by: { actor_type: 'login_user', actor_id: '1001' },
          approvals_needed: 2,
          self_review: false,
          decision: 'pending',
          approvals: 0,
          created_at: '2026-01-31T08:00:00.000Z',
          last_event_id: 0,
        },
        links: {
          AddComment: linkTo('add-comment', 'Its id is where comments are added.'),
          AddReview: linkTo('add-review', 'Its id is where reviews are added.'),
          Show: linkTo('show-access-request', 'Its id is where its decision is found.'),
          Search: linkTo('search-events', 'Its id is where its comments and reviews are found.'),
        },
      },
    },
    errors: {
      invalid_request: {
        when: 'The Idempotency-Key is malformed, or the body is not a JSON object.',
        example: 'The header Idempotency-Key must have 1 to 255 characters.',
      },
      forbidden: { when: 'The account may only read.', example: 'The account may only read.' },
      conflict: {
        when: 'Another access request of the account has the reference, and is named. Or the account takes no more access requests.',
        example: 'The access request 1 has this reference.',
      },
      unprocessable_entity: {
        when: 'Fields of the body are invalid, or the Idempotency-Key was used for another request.',
        example: 'approvals_needed must be an integer from 1 to 10.',
        field: 'approvals_needed',
      },
    },
    example: {
      body: {
        title: 'Raise the limit of customer 7',
        requested_by: { actor_type: 'login_user', actor_id: '1001' },
        approvals_needed: 2,
        self_review: false,
      },
    },
  },
});
