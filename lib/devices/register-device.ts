import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { definedOnly } from '../foundation/defined-only.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { logEvent } from '../log/log.ts';
import type { Platform } from '../login-apps/client-metadata.ts';
import { hasMobileApplication } from '../login-apps/mobile-applications.ts';
import { textField } from '../schema/json-schema.ts';
import { retryOnConflict } from '../storage/batches.ts';
import { updateItem } from '../storage/items.ts';
import { hashOf } from '../storage/keys.ts';
import {
  detailNames,
  details,
  deviceItem,
  deviceLifetimeSeconds,
  hasExpired,
  notExpired,
  relation,
  shardOf,
} from './device.ts';
import { apnsToken, type NewDevice } from './new-device.ts';
import { type DeviceChange, registerInInstallation } from './register-in-installation.ts';

export const registeredDeviceSchema = v.object({
  id: textField('The device, accepted as `device_id` when it is linked to a person.'),
});

/** The id of the device with a token on a platform, whatever the token's type. */
export function deviceIdOf(
  loginAppId: string,
  { platform, token }: Pick<NewDevice, 'platform' | 'token'>,
): string {
  // The case of a token's hexadecimal digits does not matter to APNs.
  const isApnsToken = platform === 'ios' && apnsToken.test(token);
  const sameForAll = isApnsToken ? token.toLowerCase() : token;
  return `d_${hashOf(loginAppId, platform, sameForAll)}`;
}

/**
 * Registers a device for push notifications. The same token is the same device, and each
 * registration replaces the details of the one before. Of several requests at once, exactly one
 * creates the device.
 * @throws ServiceError `not_found` when the Login App has no mobile application for the platform
 */
export async function registerDevice(loginAppId: string, newDevice: NewDevice) {
  const { platform, installation_id } = newDevice;
  if (!(await hasMobileApplication(loginAppId, platform)))
    throw new ServiceError('not_found', noMobileApplication(platform));
  const id = deviceIdOf(loginAppId, newDevice);
  const change = changeBy(loginAppId, newDevice);
  const registerOnce = () => {
    if (installation_id === undefined) return registerAlone(id, change);
    return registerInInstallation(loginAppId, installation_id, id, change);
  };
  const isCreated = await retryOnConflict(registerOnce, 'Others keep registering the device.');
  logEvent('device_registered', { platform, outcome: isCreated ? 'created' : 'known' });
  return { id, isCreated };
}

/** The change that a registration makes to its device, whether it is new or not. */
function changeBy(loginAppId: string, newDevice: NewDevice): DeviceChange {
  const set = registeredAttributes(loginAppId, newDevice, timestamp());
  const missing = detailNames.filter((name) => set[name] === undefined);
  return { set, remove: ['disabled_at', 'replaced_by', 'installation_shared', ...missing] };
}

/**
 * Registers a device without an installation, by one write.
 * @returns whether it is new; undefined if somebody else registered it meanwhile
 */
async function registerAlone(
  id: string,
  { set, remove }: DeviceChange,
): Promise<boolean | undefined> {
  const created_at = set.last_seen_at;
  const updated = await updateItem(deviceItem(id), {
    set,
    setIfAbsent: { created_at },
    remove,
    when: notExpired(),
  });
  if (updated.done) return updated.created;

  // The table may still have an expired device with this token. The new one is not its person's.
  const found = updated.found && deviceItem.parse(updated.found);
  if (!found || !hasExpired(found)) return undefined;
  const created = await updateItem(deviceItem(id), {
    set: { ...set, created_at },
    remove: [...remove, ...relation],
    when: { expires_at: { is: found.expires_at } },
  });
  return created.done ? true : undefined;
}

export const noMobileApplication = (platform: Platform): string =>
  `The Login App has no mobile application for ${platform}.`;

/**
 * The attributes that a registration gives to the item of a device: all but the time of its
 * creation and its link to a person.
 */
export function registeredAttributes(loginAppId: string, newDevice: NewDevice, lastSeenAt: string) {
  const { platform, token } = newDevice;
  const id = deviceIdOf(loginAppId, newDevice);
  const lastSeenSeconds = Math.floor(Date.parse(lastSeenAt) / 1000);
  return {
    device_id: id,
    login_app_id: loginAppId,
    platform,
    token,
    ...v.parse(v.object(details), definedOnly(newDevice)),
    last_seen_at: lastSeenAt,
    expires_at: lastSeenSeconds + deviceLifetimeSeconds,
    list_position: lastSeenAt,
    shard: shardOf(loginAppId, id),
    shard_position: lastSeenAt,
  };
}
