import { searchEvents, searchResult } from '../lib/access-requests/search-events.ts';
import { accessRequestId, searchQuery } from '../lib/access-requests/search-request.ts';
import { account } from '../lib/auth/account.ts';
import { ok } from '../lib/http/answers.ts';
import { defineEndpoint } from '../lib/http/endpoint.ts';
import { serve } from '../lib/http/serve.ts';

export const endpoint = defineEndpoint({
  method: 'GET',
  path: '/v1/rbac/access_requests/{access_request_id}/reviews',
  summary: 'Searches the reviews of an access request',
  description: 'The same search over the events of type `review` alone: same parameters, same envelope.',
  tag: 'Access requests',
  authenticate: account,
  parameters: { path: { access_request_id: accessRequestId }, query: searchQuery },
  responses: {
    200: {
      description: 'One page of the reviews, in ascending order of their ids.',
      body: searchResult,
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
    },
  },
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
  table: {
    GetItem: ['accounts', 'access_requests'],
    BatchGetItem: ['access_requests'],
    Query: ['access_requests'],
  },
  secrets: [],
  example: { path: { access_request_id: '1' }, query: { actor_type: 'custom' } },
  handle: async ({ caller, path, query }) =>
    ok(await searchEvents(caller.account_id, { ...path, ...query, type: 'review' })),
});

export const handler = serve(endpoint);
