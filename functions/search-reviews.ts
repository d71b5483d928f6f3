import { searchEvents } from '../lib/access-requests/search-events.ts';
import { searchRecord } from '../lib/access-requests/search-record.ts';
import { account } from '../lib/http/auth/account.ts';
import { ok, serve } from '../lib/http/serve.ts';

export const { endpoint, handler } = serve({
  method: 'GET',
  path: '/v1/rbac/access_requests/{access_request_id}/reviews',
  summary: 'Searches the reviews of an access request',
  description: 'The same search over the events of type `review` alone: same parameters, same envelope.',
  tag: 'Access requests',
  authenticate: account,
  parameters: searchRecord.parameters,
  responses: {
    200: { description: 'One page of the reviews, in the order of their ids.', ...searchRecord.page },
  },
  errors: searchRecord.errors,
  table: searchRecord.table,
  example: { path: { access_request_id: '1' }, query: { actor_type: 'custom' } },
  handle: async ({ caller, path, query }) =>
    ok(await searchEvents(caller.account_id, { ...path, ...query, type: 'review' })),
});
