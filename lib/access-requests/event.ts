import * as v from 'valibot';
import { countField, described, textField, timestampField } from '../schema/json-schema.ts';
import type { Item } from '../storage/items.ts';

export const actorTypes = ['login_user', 'custom'] as const;
export const reviewStatuses = ['approved', 'rejected'] as const;

const identity = {
  id: described(countField, '1, 2, 3 … within the access request.'),
  access_request_id: countField,
};
/** Fields of any event that its author sends. */
export const content = {
  actor_type: v.picklist(actorTypes),
  actor_id: textField('The author, in the words of your own system.'),
  comment: v.string(),
};
export const actorSchema = v.object({ actor_type: content.actor_type, actor_id: content.actor_id });
export type Actor = v.InferOutput<typeof actorSchema>;
const times = { created_at: timestampField, updated_at: timestampField };

/** An event of an access request, with the fields that are shown. */
export const eventSchema = v.pipe(
  v.variant('type', [
    v.pipe(
      v.object({ ...identity, type: v.literal('comment'), ...content, ...times }),
      v.title('Comment'),
    ),
    v.pipe(
      v.object({
        ...identity,
        type: v.literal('review'),
        ...content,
        ...times,
        status: v.picklist(reviewStatuses),
        counts: described(
          v.optional(v.literal(false)),
          'Present if it does not count for the decision: the access request was decided or had expired, the author requested it themselves and `self_review` is false, or has approved it before.',
        ),
      }),
      v.title('Review'),
    ),
  ]),
  v.title('AccessRequestEvent'),
);
export type AccessRequestEvent = v.InferOutput<typeof eventSchema>;

export const parseEvent = (item: Item): AccessRequestEvent => v.parse(eventSchema, item);

/** The writer of an event: an account, or an operator by their ARN. Accounts never see it. */
export type Writer = { account_id: string } | { operator: string };
