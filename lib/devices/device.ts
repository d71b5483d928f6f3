import * as v from 'valibot';
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
  related_at: v.optional(v.string()),
  disabled_at: v.optional(v.string()),
});
export type Device = v.InferOutput<typeof device>;

/** `d_` and a hash: the id of every device that is registered. */
export const deviceId = v.pipe(
  v.string('device_id must be a string.'),
  v.regex(/^d_[\w-]{43}$/, 'device_id must be the id that the registration of the device returned.'),
);
