import { addEventFor } from '../lib/access-requests/add-events.ts';
import { commentBodySchema, mostEventBytes } from '../lib/access-requests/new-event.ts';
import { json } from '../lib/http/body.ts';
import { created, serve } from '../lib/http/serve.ts';
import { invalidFields } from '../lib/schema/validation.ts';
import { addEventDocument, addEventRecord, eventAdded, invalidEvent } from './shared/add-event.ts';

export const { endpoint, handler } = serve({
  ...addEventRecord,
  route: 'POST /v1/rbac/access_requests/{access_request_id}/comments',
  body: json(commentBodySchema, invalidFields, { mostBytes: mostEventBytes }),
  handle: async ({ caller, path, headers, body }) => {
    const key = headers['idempotency-key'];
    return created(await addEventFor(caller.account_id, path.access_request_id, body, key));
  },
  document: !process.env.BUNDLED && {
    ...addEventDocument,
    summary: 'Adds a comment to an access request',
    description:
      'Adds a comment by an actor to an access request of the account. `actor_id` names the author in your own system; the service does not interpret it. Send an `Idempotency-Key` of your own: if the response is lost, the same request with the same key returns the same event for 24 hours instead of adding another.',
    responses: eventAdded('comment', 'search-events', {
      id: 4,
      access_request_id: 1,
      type: 'comment',
      actor_type: 'login_user',
      actor_id: '1001',
      comment: 'Looks good.',
      created_at: '2026-01-31T08:00:00.000Z',
      updated_at: '2026-01-31T08:00:00.000Z',
    }),
    errors: {
      ...addEventDocument.errors,
      unprocessable_entity: {
        when: invalidEvent,
        example: 'comment is required.',
        field: 'comment',
      },
    },
    example: {
      path: { access_request_id: '1' },
      body: { actor_type: 'login_user', actor_id: '1001', comment: 'Looks good.' },
    },
  },
});
