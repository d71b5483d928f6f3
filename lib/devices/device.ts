import * as v from 'valibot';
import { clock } from '../clock.ts';
import { platforms } from '../login-apps/platforms.ts';
import { readItem } from '../storage/items.ts';
import { deviceKey } from '../storage/keys.ts';

/** The gateways of Apple's push service: a token that one has issued means nothing to the other. */
export const environments = ['production', 'sandbox'] as const;

/** A device as it is stored: a platform and a push token, registered for a Login App. */
export const device = v.object({
  device_id: v.string(),
  login_app_id: v.string(),
  platform: v.picklist(platforms),
  /** The push token, in lower case for ios. */
  token: v.string(),
  /** The gateway of Apple's push service that knows the token; absent for android, and where nothing was said. */
  environment: v.optional(v.picklist(environments)),
  /** A language tag (BCP 47) in its canonical form. */
  locale: v.optional(v.string()),
  app_version: v.optional(v.string()),
  /** The installation of the app that it belongs to. */
  installation_id: v.optional(v.string()),
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
  /** The device that took its place in its installation. */
  replaced_by: v.optional(v.string()),
  /** The device whose place it took, and with it the person. */
  took_over: v.optional(v.string()),
});
export type Device = v.InferOutput<typeof device>;

/** Milliseconds after which a device that was not seen is stale: 270 days, as FCM expires its own tokens. */
const staleAfter = 270 * 24 * 60 * 60 * 1000;

/** Seconds after its last registration until a device is deleted: 400 days. */
export const deviceLifetimeSeconds = 400 * 86_400;

/** The earliest time, ISO 8601, at which a device may have been seen last and still get messages. */
export const activeSince = (): string => new Date(clock.now().getTime() - staleAfter).toISOString();

/** Whether messages may be sent to a device. */
export const isActive = ({
  disabled_at,
  replaced_by,
  last_seen_at,
}: Pick<Device, 'disabled_at' | 'replaced_by' | 'last_seen_at'>): boolean =>
  disabled_at === undefined && replaced_by === undefined && last_seen_at >= activeSince();

/** Whether a text has the form of a device id. One that has not is the id of no device. */
export const isDeviceId = (text: string): boolean => /^d_[\w-]{43}$/.test(text);

export async function readDevice(id: string): Promise<Device | undefined> {
  const item = await readItem(deviceKey(id));
  return item && v.parse(device, item);
}
