import * as v from 'valibot';
import { idempotencyKey } from './idempotency.ts';
import { newComment, newReview } from './new-event.ts';
import { accessRequestId } from './search-request.ts';

const bodyMessage = 'The body must be a JSON object.';

/** A JSON object, which says nothing of its type itself: the path does. */
const bodyOfType = (type: 'comment' | 'review') =>
  v.pipe(
    v.custom<object>((body) => body instanceof Object && !Array.isArray(body), bodyMessage),
    v.transform((body) => ({ ...body, type })),
  );

const request = { access_request_id: accessRequestId, idempotency_key: idempotencyKey };

/** `{"actor_type": …, "actor_id": …, "comment": …}` for an access request; other fields are ignored. */
export const commentRequest = v.object({ ...request, body: v.pipe(bodyOfType('comment'), newComment) });

/** `{"actor_type": …, "actor_id": …, "comment"?: …, "status": …}` for an access request; other fields are ignored. */
export const reviewRequest = v.object({ ...request, body: v.pipe(bodyOfType('review'), newReview) });

export type EventRequest = v.InferOutput<typeof commentRequest> | v.InferOutput<typeof reviewRequest>;
