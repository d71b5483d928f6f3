import * as v from 'valibot';
import { jsonSchema } from '../schema/json-schema.ts';
import { jsonObject } from '../schema/validation.ts';
import { newCommentSchema, newReviewSchema } from './new-event.ts';

/** A JSON object; the type of the event follows from the path. */
const bodyOfType = (type: 'comment' | 'review') =>
  v.pipe(
    jsonObject('The body must be a JSON object.'),
    v.transform((body) => ({ ...body, type })),
  );

/** `{"actor_type": …, "actor_id": …, "comment": …}`; other fields are ignored. */
export const commentBodySchema = v.pipe(
  bodyOfType('comment'),
  newCommentSchema,
  jsonSchema(v.pipe(v.omit(newCommentSchema, ['type']), v.title('NewComment'))),
);

/** `{"actor_type": …, "actor_id": …, "comment"?: …, "status": …}`; other fields are ignored. */
export const reviewBodySchema = v.pipe(
  bodyOfType('review'),
  newReviewSchema,
  jsonSchema(v.pipe(v.omit(newReviewSchema, ['type']), v.title('NewReview'))),
);
