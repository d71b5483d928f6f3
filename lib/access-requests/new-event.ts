import * as v from 'valibot';
import { keyRequired } from '../validation.ts';
import { actorTypes, reviewStatuses } from './event.ts';

const longestComment = 10_000;
const longestActorId = 200;

const text = (name: string) => v.string(`${name} must be a string.`);
const oneOf = <const Options extends readonly string[]>(name: string, options: Options) =>
  v.picklist(options, `${name} must be ${options.join(' or ')}.`);

const shared = {
  actor_type: oneOf('actor_type', actorTypes),
  actor_id: v.pipe(
    text('actor_id'),
    v.check(within(1, longestActorId), `actor_id must have 1 to ${longestActorId} characters.`),
  ),
  comment: v.pipe(
    text('comment'),
    v.check(within(0, longestComment), `comment must have at most ${longestComment} characters.`),
  ),
};

/** A comment as its author gives it. */
export const newComment = v.object({ ...shared, type: v.literal('comment') }, keyRequired());
/** A review as its author gives it; its comment may be left out. */
export const newReview = v.object(
  {
    ...shared,
    comment: v.optional(shared.comment, ''),
    type: v.literal('review'),
    status: oneOf('status', reviewStatuses),
  },
  keyRequired(),
);

/** A comment or a review as its author gives it. */
export const newEvent = v.variant('type', [newComment, newReview], 'type must be comment or review.');
export type NewEvent = v.InferOutput<typeof newEvent>;

/** Counts characters as people do, not UTF-16 units; a lone half of a pair is no text. */
function within(least: number, most: number) {
  return (value: string) => {
    const { length } = Array.from(value);
    return value.isWellFormed() && length >= least && length <= most;
  };
}
