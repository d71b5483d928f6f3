import {
  accessRequestsPageSchema,
  accessRequestsQuery,
  searchAccessRequests,
} from '../lib/access-requests/search-access-requests.ts';
import { account } from '../lib/http/auth/account.ts';
import { ok, serve } from '../lib/http/serve.ts';
import { exampleOfAccessRequest, searchRecord } from './shared/search-events.ts';

export const { endpoint, handler } = serve({
  route: 'GET /v1/rbac/access_requests',
  summary: 'Searches the access requests that the account has access to',
  description:
    'Returns one page of them, the newest first unless asked otherwise, and the total over all pages. Filters can be combined. A page past the end is empty and still has the true total. What waits for a decision: `decision=pending`.',
  tag: 'Access requests',
  authenticate: account,
  parameters: { query: accessRequestsQuery },
  responses: {
    200: {
      description: 'One page of the access requests, in the order of their ids.',
      body: accessRequestsPageSchema,
      example: { total: 1, offset: 0, count: 1, results: [exampleOfAccessRequest] },
    },
  },
  errors: { invalid_request: searchRecord.errors.invalid_request },
  table: { access_requests: [...searchRecord.table.access_requests, 'UpdateItem', 'DeleteItem'] },
  example: { query: { decision: 'approved', page_size: '1' } },
  handle: async ({ caller, query }) => ok(await searchAccessRequests(caller.account_id, query)),
});
