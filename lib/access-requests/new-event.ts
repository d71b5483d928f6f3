import * as v from 'valibot';
import { jsonSchema } from '../schema/json-schema.ts';
import { isPlainText, plainTextPattern } from '../schema/plain-text.ts';
import { jsonObject, keyRequired } from '../schema/validation.ts';
import { actorTypes, type content, reviewStatuses } from './event.ts';

/**
 * Code points. A page of 100 such comments stays below the 6,291,556 bytes that a function may
 * return.
 */
export const longestComment = 10_000;
/** Bytes of a new event in JSON, where an escaped character takes up to twelve. */
export const mostEventBytes = 128 * 1024;
/** Code points of the id of an actor, a title or a reference. */
export const longestActorId = 200;

/** A text of one line that names something. */
export function nameField(name: string) {
  const lengthMessage = `${name} must have 1 to ${longestActorId} characters.`;
  return v.pipe(
    v.string(`${name} must be a string.`),
    v.check(
      (text) => isPlainText(text),
      `${name} must be well-formed Unicode without control characters.`,
    ),
    v.minCodePoints(1, lengthMessage),
    v.maxCodePoints(longestActorId, lengthMessage),
    jsonSchema({
      type: 'string',
      minLength: 1,
      maxLength: longestActorId,
      pattern: plainTextPattern('line'),
    }),
  );
}

/**
 * A comment has no other control characters than those of lines, nor lone surrogates: they would
 * take up to seven bytes each in a function's result. Any other character takes at most four.
 */
const commentField = v.pipe(
  v.string('comment must be a string.'),
  v.check(
    (text) => isPlainText(text, 'lines'),
    'comment must be well-formed Unicode without control characters other than tab, line feed and carriage return.',
  ),
  v.maxCodePoints(longestComment, `comment must have at most ${longestComment} characters.`),
  jsonSchema({
    type: 'string',
    minLength: 0,
    maxLength: longestComment,
    pattern: plainTextPattern('lines'),
  }),
);

/** A field with one of a few values, which its message names. */
const choiceField = <const Options extends readonly string[]>(name: string, options: Options) =>
  v.picklist(options, `${name} must be ${options.join(' or ')}.`);

export const actorFields = {
  actor_type: choiceField('actor_type', actorTypes),
  actor_id: nameField('actor_id'),
};

/** Fields of both comments and reviews. */
const shared = {
  ...actorFields,
  comment: commentField,
} satisfies Record<keyof typeof content, v.GenericSchema>;

export const newCommentSchema = v.object({ ...shared, type: v.literal('comment') }, keyRequired());
export const newReviewSchema = v.object(
  {
    ...shared,
    comment: v.optional(shared.comment, ''),
    type: v.literal('review'),
    status: choiceField('status', reviewStatuses),
  },
  keyRequired(),
);

export const newEventSchema = v.variant(
  'type',
  [newCommentSchema, newReviewSchema],
  'type must be comment or review.',
);
export type NewEvent = v.InferOutput<typeof newEventSchema>;

/** A JSON object, whose other fields are ignored; the type of the event follows from the path. */
const bodyOf = <Schema extends typeof newCommentSchema | typeof newReviewSchema>(
  schema: Schema,
  title: string,
) =>
  v.pipe(
    jsonObject('The body must be a JSON object.'),
    v.transform((body) => ({ ...body, type: schema.entries.type.literal })),
    schema,
    jsonSchema(v.pipe(v.omit<Schema, ['type']>(schema, ['type']), v.title(title))),
  );
export const commentBodySchema = bodyOf(newCommentSchema, 'NewComment');
export const reviewBodySchema = bodyOf(newReviewSchema, 'NewReview');
