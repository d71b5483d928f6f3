import * as v from 'valibot';
import { jsonObject } from '../schema/validation.ts';
import { wire } from '../schema/wire.ts';
import { newComment, newReview } from './new-event.ts';

/** A JSON object; the type of the event follows from the path. */
const bodyOfType = (type: 'comment' | 'review') =>
  v.pipe(
    jsonObject('The body must be a JSON object.'),
    v.transform((body) => ({ ...body, type })),
  );

/** `{"actor_type": …, "actor_id": …, "comment": …}`; other fields are ignored. */
export const commentBody = v.pipe(
  bodyOfType('comment'),
  newComment,
  wire(v.pipe(v.omit(newComment, ['type']), v.title('NewComment'))),
);

/** `{"actor_type": …, "actor_id": …, "comment"?: …, "status": …}`; other fields are ignored. */
export const reviewBody = v.pipe(
  bodyOfType('review'),
  newReview,
  wire(v.pipe(v.omit(newReview, ['type']), v.title('NewReview'))),
);
