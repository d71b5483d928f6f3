import * as v from 'valibot';
import { epochSeconds, timestamp } from '../clock.ts';
import { logEvent } from '../log.ts';
import { hasMobileApplication } from '../login-apps/mobile-applications.ts';
import { type Platform, platforms } from '../login-apps/platforms.ts';
import { ServiceError } from '../service-error.ts';
import { updateItem } from '../storage/items.ts';
import { deviceKey, hashOf } from '../storage/keys.ts';
import { jsonObject, keyRequired } from '../validation.ts';
import { wire } from '../wire.ts';
import { shardOf } from './shards.ts';

const tokenText = v.string('device.token must be a string.');
/** An APNs device token in hexadecimal, of any case; stored in lower case. */
const iosToken = v.pipe(
  v.string(),
  v.regex(/^([0-9a-fA-F]{2}){32,200}$/, 'device.token must be 64 to 400 hexadecimal digits for ios.'),
  v.toLowerCase(),
);
/** An FCM registration token: opaque. */
const androidToken = v.pipe(
  v.string(),
  v.regex(/^[\x21-\x7e]{1,4096}$/, 'device.token must be 1 to 4096 visible ASCII characters for android.'),
);

const hashMessage = 'device must be a JSON object with the fields token and platform.';

/** What a token is on its platform. */
const deviceOfPlatform = v.pipe(
  v.variant('platform', [
    v.pipe(v.object({ platform: v.literal('ios'), token: iosToken }), v.title('IosDevice')),
    v.pipe(v.object({ platform: v.literal('android'), token: androidToken }), v.title('AndroidDevice')),
  ]),
  v.title('NewDevice'),
);

/** `{"device": {"token": …, "platform": "ios" | "android"}}`; other fields are ignored. */
export const registrationRequest = v.object(
  {
    device: v.pipe(
      jsonObject(hashMessage),
      // First both fields, so that each one that is wrong is named; then what a token is on its platform.
      v.object(
        { platform: v.picklist(platforms, 'device.platform must be ios or android.'), token: tokenText },
        keyRequired('device.'),
      ),
      deviceOfPlatform,
      wire(deviceOfPlatform),
    ),
  },
  ({ input }) =>
    input instanceof Object ? hashMessage : 'The body must be a JSON object with the field device.',
);

/** Seconds after its last registration until a device is deleted: 400 days. */
const lifetimeSeconds = 400 * 86_400;

/** The device as registration and relation return it. */
export const registeredDevice = v.object({
  id: v.pipe(
    v.string(),
    v.description('The device, accepted as `device_id` when it is related to a person.'),
  ),
});

/**
 * Registers a device for push notifications. The same token is the same device, however often it is registered. One
 * write, so of several requests at once exactly one creates it.
 * @throws ServiceError `not_found` when the Login App has no mobile application for the platform
 */
export async function registerDevice(
  login_app_id: string,
  { platform, token }: { platform: Platform; token: string },
): Promise<{ id: string; outcome: 'created' | 'known' }> {
  if (!(await hasMobileApplication(login_app_id, platform))) {
    throw new ServiceError('not_found', `The Login App has no mobile application for ${platform}.`);
  }
  const id = `d_${hashOf(login_app_id, platform, token)}`;
  const now = timestamp();
  const update = await updateItem(deviceKey(id), {
    set: {
      device_id: id,
      login_app_id,
      platform,
      token,
      last_seen_at: now,
      expires_at: epochSeconds() + lifetimeSeconds,
      list_position: now,
      shard: shardOf(login_app_id, id),
      shard_position: now,
    },
    setIfAbsent: { created_at: now },
    remove: ['disabled_at'],
  });
  const outcome = update.done && update.created ? 'created' : 'known';
  logEvent('device_registered', { platform, outcome });
  return { id, outcome };
}
