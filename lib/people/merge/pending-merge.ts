import * as v from 'valibot';
import { type ItemOf, itemKind } from '../../storage/items.ts';
import { mergeKey } from '../../storage/keys.ts';

/**
 * A merge whose further work may have to be finished. It is written with the merge, and removed with
 * the last change. 1.1.0 does not know its list.
 */
export const pendingMergeItem = itemKind(
  v.object({
    /** The person who was given up. */
    login_user_id: v.string(),
    merged_into: v.string(),
    /** The session that gets the devices; by default the latest one of the person who is kept. */
    session_id: v.optional(v.string()),
    /** Epoch seconds until which the session of a guest goes on. */
    guest_until: v.optional(v.number()),
  }),
  mergeKey,
);
export type PendingMerge = ItemOf<typeof pendingMergeItem>;
