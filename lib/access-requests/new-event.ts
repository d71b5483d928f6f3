import * as v from 'valibot';
import { jsonSchema } from '../schema/json-schema.ts';
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

/**
 * A string without lone surrogates and control characters (Unicode category Cc), which take up to
 * seven bytes each in a function's result; any other character takes at most four.
 * @param control the forbidden control characters, as ranges of a character class
 * @param except the allowed ones, for the message
 */
const plainText = (name: string, least: number, most: number, control: string, except = '') => {
  const forbidden = new RegExp(`[${control}]`);
  const isPlain = (value: string) => value.isWellFormed() && !forbidden.test(value);
  const length = `${name} must have ${least > 0 ? `${least} to` : 'at most'} ${most} characters.`;
  return v.pipe(
    v.string(`${name} must be a string.`),
    v.check(isPlain, `${name} must be well-formed Unicode without control characters${except}.`),
    v.minCodePoints(least, length),
    v.maxCodePoints(most, length),
    jsonSchema({ type: 'string', minLength: least, maxLength: most, pattern: `^[^${control}]*$` }),
  );
};

/** A text of one line that names something. */
export const nameText = (name: string) =>
  plainText(name, 1, longestActorId, String.raw`\u0000-\u001f\u007f-\u009f`);

const oneOf = <const Options extends readonly string[]>(name: string, options: Options) =>
  v.picklist(options, `${name} must be ${options.join(' or ')}.`);

export const actorFields = {
  actor_type: oneOf('actor_type', actorTypes),
  actor_id: nameText('actor_id'),
};

const shared = {
  ...actorFields,
  comment: plainText(
    'comment',
    0,
    longestComment,
    String.raw`\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f`,
    ' other than tab, line feed and carriage return',
  ),
} satisfies Record<keyof typeof content, v.GenericSchema>;

export const newCommentSchema = v.object({ ...shared, type: v.literal('comment') }, keyRequired());
export const newReviewSchema = v.object(
  {
    ...shared,
    comment: v.optional(shared.comment, ''),
    type: v.literal('review'),
    status: oneOf('status', reviewStatuses),
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
