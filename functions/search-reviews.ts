import { searchEvents } from '../lib/access-requests/search-events.ts';
import { ok, serve } from '../lib/http/serve.ts';
import { pageOfEvents, searchDocument, searchRecord } from './shared/search-events.ts';

export const { endpoint, handler } = serve({
  ...searchRecord,
  route: 'GET /v1/rbac/access_requests/{access_request_id}/reviews',
  handle: async ({ caller, path, query }) =>
    ok(await searchEvents(caller.account_id, { ...path, ...query, type: 'review' })),
  document: !process.env.BUNDLED && {
    ...searchDocument,
    summary: 'Searches the reviews of an access request',
    description:
      'The same search over the events of type `review` alone: same parameters, same envelope.',
    responses: {
      200: { description: 'One page of the reviews, in the order of their ids.', ...pageOfEvents },
    },
    example: { path: { access_request_id: '1' }, query: { actor_type: 'custom' } },
  },
});
