import * as v from 'valibot';
import { jsonObject } from '../validation.ts';
import { idempotencyKey } from './idempotency.ts';
import { newComment, newReview } from './new-event.ts';
import { accessRequestId } from './search-request.ts';

/** A JSON object, which says nothing of its type itself: the path does. */
const bodyOfType = (type: 'comment' | 'review') =>
  v.pipe(
    jsonObject('The body must be a JSON object.'),
    v.transform((body) => ({ ...body, type })),
  );

const request = { access_request_id: accessRequestId, idempotency_key: idempotencyKey };

/** `{"actor_type": …, "actor_id": …, "comment": …}` for an access request; other fields are ignored. */
export const commentRequest = v.object({ ...request, body: v.pipe(bodyOfType('comment'), newComment) });

/** `{"actor_type": …, "actor_id": …, "comment"?: …, "status": …}` for an access request; other fields are ignored. */
export const reviewRequest = v.object({ ...request, body: v.pipe(bodyOfType('review'), newReview) });

export type EventRequest = v.InferOutput<typeof commentRequest> | v.InferOutput<typeof reviewRequest>;
