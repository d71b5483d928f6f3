import * as v from 'valibot';
import { keyRequired } from '../validation.ts';
import { actorTypes, reviewStatuses } from './event.ts';

/** In code points. A page of 100 such comments stays below the 6,291,556 bytes that a function may return. */
export const longestComment = 10_000;
/** In code points. */
export const longestActorId = 200;

/**
 * A string without lone surrogates and without the control characters (Unicode category Cc) that the pattern finds.
 * They take up to seven bytes each in a function's result, any other character at most four.
 */
const plainText = (name: string, { control, except = '' }: { control: RegExp; except?: string }) =>
  v.pipe(
    v.string(`${name} must be a string.`),
    v.check(
      (value) => value.isWellFormed() && !control.test(value),
      `${name} must be well-formed Unicode without control characters${except}.`,
    ),
  );
const oneOf = <const Options extends readonly string[]>(name: string, options: Options) =>
  v.picklist(options, `${name} must be ${options.join(' or ')}.`);

const actorIdLength = `actor_id must have 1 to ${longestActorId} characters.`;

const shared = {
  actor_type: oneOf('actor_type', actorTypes),
  actor_id: v.pipe(
    plainText('actor_id', { control: /\p{Cc}/u }),
    v.minCodePoints(1, actorIdLength),
    v.maxCodePoints(longestActorId, actorIdLength),
  ),
  comment: v.pipe(
    plainText('comment', {
      control: /(?![\t\n\r])\p{Cc}/u,
      except: ' other than tab, line feed and carriage return',
    }),
    v.maxCodePoints(longestComment, `comment must have at most ${longestComment} characters.`),
  ),
};

/** A comment as its author sends it. */
export const newComment = v.object({ ...shared, type: v.literal('comment') }, keyRequired());
/** A review as its author sends it; its comment may be left out. */
export const newReview = v.object(
  {
    ...shared,
    comment: v.optional(shared.comment, ''),
    type: v.literal('review'),
    status: oneOf('status', reviewStatuses),
  },
  keyRequired(),
);

/** A comment or a review as its author sends it. */
export const newEvent = v.variant('type', [newComment, newReview], 'type must be comment or review.');
export type NewEvent = v.InferOutput<typeof newEvent>;
