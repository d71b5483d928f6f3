import * as v from 'valibot';
import { clock } from '../clock.ts';
import { platforms } from '../login-apps/platforms.ts';

/** A device as it is stored: a platform and a push token, registered for a Login App. */
export const device = v.object({
  device_id: v.string(),
  login_app_id: v.string(),
  platform: v.picklist(platforms),
  /** The push token, in lower case for ios. */
  token: v.string(),
  created_at: v.string(),
  last_seen_at: v.string(),
  /** The Login User it is related to. */
  login_user_id: v.optional(v.string()),
  /** `created_at` of that Login User: one whose item was deleted, and created again, has another. */
  login_user_since: v.optional(v.string()),
  related_at: v.optional(v.string()),
  /** The session that related it; when that session is logged out, the relation ends. */
  related_session_id: v.optional(v.string()),
  disabled_at: v.optional(v.string()),
});
export type Device = v.InferOutput<typeof device>;

/** Milliseconds after which a device that was not seen is stale: 270 days, as FCM expires its own tokens. */
const staleAfter = 270 * 24 * 60 * 60 * 1000;

/** The earliest time, ISO 8601, at which a device may have been seen last and still get messages. */
export const activeSince = (): string => new Date(clock.now().getTime() - staleAfter).toISOString();

/** Whether messages may be sent to a device. */
export const isActive = ({ disabled_at, last_seen_at }: Device): boolean =>
  disabled_at === undefined && last_seen_at >= activeSince();

/** Whether a text has the form of a device id. One that has not is the id of no device. */
export const isDeviceId = (text: string): boolean => /^d_[\w-]{43}$/.test(text);
