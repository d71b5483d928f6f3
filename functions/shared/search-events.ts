import type * as v from 'valibot';
import { searchResultSchema } from '../../lib/access-requests/search-events.ts';
import { accessRequestIdSchema, searchQuery } from '../../lib/access-requests/search-request.ts';
import type { accessRequestSchema } from '../../lib/access-requests/shown-access-request.ts';
import { account } from '../../lib/http/auth/account.ts';

/** Parts that the records of the searches of events and of reviews share. */
export const searchRecord = {
  authenticate: account,
  parameters: { path: { access_request_id: accessRequestIdSchema }, query: searchQuery },
  table: { access_requests: ['GetItem', 'BatchGetItem', 'Query'] },
} as const;

/** Parts that the documents of these searches share. */
export const searchDocument = {
  tag: 'Access requests',
  errors: {
    invalid_request: {
      when: 'A parameter is malformed, repeated or unknown.',
      example: 'The parameter page must be a positive integer.',
    },
    forbidden: {
      when: 'The account has no access to the access request, or there is none.',
      example: 'The account has no access to this access request.',
    },
  },
} as const;

export const pageOfEvents = {
  body: searchResultSchema,
  example: {
    total: 3,
    offset: 1,
    count: 1,
    results: [
      {
        id: 2,
        access_request_id: 1,
        type: 'review',
        actor_type: 'custom',
        actor_id: 'risk-desk',
        comment: 'A page is missing.',
        created_at: '2026-01-31T08:00:00.000Z',
        updated_at: '2026-01-31T08:00:00.000Z',
        status: 'rejected',
      },
    ],
  },
};

/** An access request in the examples of the endpoints that return it. */
export const exampleOfAccessRequest = {
  id: 1,
  title: 'Raise the limit of customer 7',
  reference: 'limit-7',
  requested_by: { actor_type: 'login_user', actor_id: '1001' },
  approvals_needed: 2,
  self_review: false,
  expires_at: '2026-02-28T08:00:00.000Z',
  decision: 'approved',
  approvals: 2,
  decided_at: '2026-01-31T09:30:00.000Z',
  created_at: '2026-01-31T08:00:00.000Z',
} satisfies v.InferOutput<typeof accessRequestSchema>;
