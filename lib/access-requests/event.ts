import * as v from 'valibot';

export const actorTypes = ['login_user', 'custom'] as const;
export const reviewStatuses = ['approved', 'rejected'] as const;

const identity = { id: v.number(), access_request_id: v.number() };
const content = {
  actor_type: v.picklist(actorTypes),
  actor_id: v.string(),
  comment: v.string(),
  created_at: v.string(),
  updated_at: v.string(),
};

/** An event of an access request: these fields and no others are shown. */
export const event = v.variant('type', [
  v.object({ ...identity, type: v.literal('comment'), ...content }),
  v.object({ ...identity, type: v.literal('review'), ...content, status: v.picklist(reviewStatuses) }),
]);
export type AccessRequestEvent = v.InferOutput<typeof event>;
