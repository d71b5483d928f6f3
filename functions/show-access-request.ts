import { accessRequestIdSchema } from '../lib/access-requests/search-request.ts';
import {
  oneAccessRequestSchema,
  showAccessRequest,
} from '../lib/access-requests/shown-access-request.ts';
import { account } from '../lib/http/auth/account.ts';
import { ok, serve } from '../lib/http/serve.ts';
import { exampleOfAccessRequest, searchDocument } from './shared/search-events.ts';

export const { endpoint, handler } = serve({
  route: 'GET /v1/rbac/access_requests/{access_request_id}',
  authenticate: account,
  parameters: { path: { access_request_id: accessRequestIdSchema } },
  table: { access_requests: ['GetItem', 'Query'] },
  handle: async ({ caller, path }) =>
    ok(await showAccessRequest(caller.account_id, path.access_request_id)),
  document: !process.env.BUNDLED && {
    summary: 'Shows an access request and its decision',
    description:
      'Returns the fields that it was created with, its decision, and the id of its last event. An access request past its `expires_at` is expired from that moment on.',
    tag: 'Access requests',
    responses: {
      200: {
        description: 'The access request.',
        body: oneAccessRequestSchema,
        example: { ...exampleOfAccessRequest, last_event_id: 5 },
      },
    },
    errors: {
      invalid_request: {
        when: 'The id of the access request is malformed.',
        example: 'The access_request_id must be a positive integer.',
      },
      forbidden: searchDocument.errors.forbidden,
    },
    example: { path: { access_request_id: '1' } },
  },
});
