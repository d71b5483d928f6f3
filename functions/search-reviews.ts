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
  authenticate: account,
  parameters: { path: { access_request_id: accessRequestId }, query: searchQuery },
  responses: {
    200: { description: 'One page of the reviews, in ascending order of their ids.', body: searchResult },
  },
  errors: {
    invalid_request: 'A parameter is malformed or unknown.',
    forbidden: 'The account has no access to the access request, or there is none.',
  },
  tableActions: ['GetItem', 'BatchGetItem', 'Query'],
  secrets: [],
  example: { path: { access_request_id: '1' }, query: { actor_type: 'custom' } },
  handle: async ({ caller, path, query }) =>
    ok(await searchEvents(caller.account_id, { ...path, ...query, type: 'review' })),
});

export const handler = serve(endpoint);
