import { searchEvents } from '../lib/access-requests/search-events.ts';
import { ok, serve } from '../lib/http/serve.ts';
import { pageOfEvents, searchDocument, searchRecord } from './shared/search-events.ts';

export const { endpoint, handler } = serve({
  ...searchRecord,
  route: 'GET /v1/rbac/access_requests/{access_request_id}/events',
  isBusy: true,
  handle: async ({ caller, path, query }) =>
    ok(await searchEvents(caller.account_id, { ...path, ...query })),
  document: !process.env.BUNDLED && {
    ...searchDocument,
    summary: 'Searches the comments and reviews of an access request',
    description:
      'Returns one page of the events, in the order of their ids, and the total over all pages. Filters can be combined. A page past the end is empty and still has the true total. Ids that do not exist are left out.',
    responses: {
      200: { description: 'One page of the events, in the order of their ids.', ...pageOfEvents },
    },
    example: { path: { access_request_id: '1' }, query: { page_size: '1', page: '2' } },
  },
});
