import {
  accessRequestsPageSchema,
  accessRequestsQuery,
  searchAccessRequests,
} from '../lib/access-requests/search-access-requests.ts';
import { account } from '../lib/http/auth/account.ts';
import { ok, serve } from '../lib/http/serve.ts';
import { exampleOfAccessRequest, searchDocument } from './shared/search-events.ts';

export const { endpoint, handler } = serve({
  route: 'GET /v1/rbac/access_requests',
  authenticate: account,
  parameters: { query: accessRequestsQuery },
  table: { access_requests: ['BatchGetItem'], access_request_lists: ['Query'] },
  handle: async ({ caller, query }) => ok(await searchAccessRequests(caller.account_id, query)),
  document: !process.env.BUNDLED && {
    summary: 'Searches the access requests that the account has access to',
    description:
      'Returns one page of them, the newest first by default. Filters can be combined. What waits for a decision: `decision=pending`. Go on with `next_cursor` while there is one: a page may have fewer members than `page_size`, or none, where few meet a combination of filters.',
    tag: searchDocument.tag,
    responses: {
      200: {
        description: 'One page of the access requests, in the order of their ids.',
        body: accessRequestsPageSchema,
        example: { results: [exampleOfAccessRequest] },
      },
    },
    errors: {
      invalid_request: {
        when: 'A parameter is malformed, repeated or unknown.',
        example: 'The parameter page_size must be an integer from 1 to 100.',
      },
    },
    example: { query: { decision: 'approved', page_size: '1' } },
  },
});
