import { addReviewFor } from '../lib/access-requests/add-events.ts';
import { mostEventBytes, reviewBodySchema } from '../lib/access-requests/new-event.ts';
import { json } from '../lib/http/body.ts';
import { created, serve } from '../lib/http/serve.ts';
import { invalidFields } from '../lib/schema/validation.ts';
import { addEventDocument, addEventRecord, eventAdded, invalidEvent } from './shared/add-event.ts';

export const { endpoint, handler } = serve({
  ...addEventRecord,
  route: 'POST /v1/rbac/access_requests/{access_request_id}/reviews',
  body: json(reviewBodySchema, invalidFields, { mostBytes: mostEventBytes }),
  table: {
    access_requests: [...addEventRecord.table.access_requests, 'UpdateItem'],
    access_request_lists: ['GetItem', 'PutItem'],
  },
  handle: async ({ caller, path, headers, body }) => {
    const key = headers['idempotency-key'];
    return created(await addReviewFor(caller.account_id, path.access_request_id, body, key));
  },
  document: !process.env.BUNDLED && {
    ...addEventDocument,
    summary: 'Adds a review to an access request',
    description:
      'Adds a review, which approves or rejects, by an actor to an access request of the account. Where a decision is computed, a pending access request is decided by it; a review that does not count, such as a later one, is kept and has `counts: false`. The comment may be left out. `actor_id` names the author in your own system; the service does not interpret it. Send an `Idempotency-Key` of your own: if the response is lost, the same request with the same key returns the same event for 24 hours instead of adding another.',
    responses: eventAdded('review', 'search-reviews', {
      id: 5,
      access_request_id: 1,
      type: 'review',
      actor_type: 'login_user',
      actor_id: '1001',
      comment: '',
      created_at: '2026-01-31T08:00:00.000Z',
      updated_at: '2026-01-31T08:00:00.000Z',
      status: 'approved',
    }),
    errors: {
      ...addEventDocument.errors,
      unprocessable_entity: {
        when: invalidEvent,
        example: 'status must be approved or rejected.',
        field: 'status',
      },
    },
    example: {
      path: { access_request_id: '1' },
      body: { actor_type: 'login_user', actor_id: '1001', status: 'approved', comment: '' },
    },
  },
});
