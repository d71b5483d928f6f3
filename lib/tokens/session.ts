import * as v from 'valibot';
import { epochSeconds } from '../clock.ts';

/** What one login started. */
export const session = v.object({
  session_id: v.string(),
  login_user_id: v.string(),
  login_app_id: v.string(),
  /** The client that logged in. */
  client_id: v.string(),
  /** How often it has been refreshed. */
  generation: v.number(),
  /** Epoch seconds. */
  started_at: v.number(),
  /** Epoch seconds of the last refresh. */
  refreshed_at: v.optional(v.number()),
  /** Epoch seconds: the idle or the absolute end, whichever comes first. */
  expires_at: v.number(),
  created_at: v.string(),
  /** Set when it was ended on purpose. The item stays as long as a device could still name it. */
  ended_at: v.optional(v.string()),
});
export type Session = v.InferOutput<typeof session>;

/** Whether a session goes on. The table deletes ended ones late, so the time is looked at too. */
export const isActive = ({ ended_at, expires_at }: Session): boolean =>
  ended_at === undefined && expires_at > epochSeconds();
