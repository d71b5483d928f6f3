import * as v from 'valibot';
import { timestamp } from '../clock.ts';
import { ServiceError } from '../errors/service-error.ts';
import { logEvent } from '../log/log.ts';
import { hasMobileApplication } from '../login-apps/mobile-applications.ts';
import type { Platform } from '../login-apps/platforms.ts';
import { updateItem } from '../storage/items.ts';
import { deviceKey, hashOf } from '../storage/keys.ts';
import { deviceLifetimeSeconds } from './device.ts';
import { formerAttributes, takeInstallation } from './installation.ts';
import type { NewDevice } from './new-device.ts';
import { shardOf } from './shards.ts';

/** The device as registration and relation return it. */
export const registeredDevice = v.object({
  id: v.pipe(
    v.string(),
    v.description('The device, accepted as `device_id` when it is related to a person.'),
  ),
});

/** The id of the device that has a token on a platform. */
export const deviceIdOf = (loginAppId: string, { platform, token }: NewDevice): string =>
  `d_${hashOf(loginAppId, platform, token)}`;

/**
 * Registers a device for push notifications. The same token is the same device, however often it is registered. What
 * a registration says of it replaces what the one before said. One write, so of several requests at once exactly one
 * creates it; with an installation id at most two requests before that.
 * @throws ServiceError `not_found` when the Login App has no mobile application for the platform
 */
export async function registerDevice(
  login_app_id: string,
  newDevice: NewDevice,
): Promise<{ id: string; outcome: 'created' | 'known' }> {
  const { platform, installation_id } = newDevice;
  if (!(await hasMobileApplication(login_app_id, platform))) {
    throw new ServiceError('not_found', noMobileApplication(platform));
  }
  const id = deviceIdOf(login_app_id, newDevice);
  const takenOver =
    installation_id === undefined ? {} : await takeInstallation(login_app_id, installation_id, id);
  const now = timestamp();
  const details = detailsOf(newDevice);
  const update = await updateItem(deviceKey(id), {
    set: { ...attributesOf(login_app_id, newDevice, now), ...takenOver },
    setIfAbsent: { created_at: now },
    remove: [
      'disabled_at',
      'replaced_by',
      ...formerAttributes,
      ...Object.entries(details).flatMap(([name, value]) => (value === undefined ? [name] : [])),
    ],
  });
  const outcome = update.done && update.created ? 'created' : 'known';
  logEvent('device_registered', { platform, outcome });
  return { id, outcome };
}

export const noMobileApplication = (platform: Platform): string =>
  `The Login App has no mobile application for ${platform}.`;

/** What a registration may leave out, under the names of the item's attributes. */
const detailsOf = ({ environment, locale, app_version, installation_id }: NewDevice) => ({
  environment,
  locale,
  app_version,
  installation_id,
});

/** What the item of a device holds that was last seen at a time, apart from when it was created and whose it is. */
export function attributesOf(login_app_id: string, newDevice: NewDevice, last_seen_at: string) {
  const { platform, token } = newDevice;
  const id = deviceIdOf(login_app_id, newDevice);
  const known = Object.entries(detailsOf(newDevice)).filter(([, value]) => value !== undefined);
  return {
    device_id: id,
    login_app_id,
    platform,
    token,
    ...Object.fromEntries(known),
    last_seen_at,
    expires_at: Math.floor(Date.parse(last_seen_at) / 1000) + deviceLifetimeSeconds,
    list_position: last_seen_at,
    shard: shardOf(login_app_id, id),
    shard_position: last_seen_at,
  };
}
