import * as v from 'valibot';
import { timestampField } from '../schema/json-schema.ts';
import { keyOf } from '../storage/items.ts';
import { devicesOfLoginUserList, type Key } from '../storage/keys.ts';
import { readGlobalList, readMembers } from '../storage/lists.ts';
import { type Device, deviceItem, devicesAmong, isActive, tokenTypeOf, tokenTypes } from './device.ts';
import { notReplaced } from './installation.ts';
import { endLeftoverRelations } from './relation.ts';

/** The most devices that a person may have, but for some that were related at the same time. */
export const mostDevices = 20;
/** More than a person can have, and what one batch read takes. */
const mostRead = 100;

/**
 * Every device that is related to a Login User, the one seen last first. The index that finds them lags behind,
 * so each device is read again, strongly consistent: one that is another person's by now is never among them.
 */
export async function readRelatedDevices(loginUserId: string): Promise<Device[]> {
  return confirmRelated(loginUserId, await findRelated(loginUserId));
}

/** The devices of a Login User that were not replaced and whose relation stands. A relation that is left over ends here. */
export async function readCurrentDevices(loginUserId: string): Promise<Device[]> {
  const related = await readRelatedDevices(loginUserId);
  const devices = await endLeftoverRelations(await notReplaced(related));
  return devices.filter(({ login_user_id }) => login_user_id !== undefined);
}

/** The keys of the devices that were related to a Login User a moment ago: one request. */
export async function findRelated(loginUserId: string): Promise<Key[]> {
  const list = devicesOfLoginUserList(loginUserId);
  const { items } = await readGlobalList('by_list', list, { limit: mostRead });
  return items.map(keyOf);
}

/** The devices of some keys that are related to a Login User now, the one seen last first: one more request. */
export async function confirmRelated(loginUserId: string, keys: Key[]): Promise<Device[]> {
  return devicesAmong(await readMembers(keys))
    .filter(({ login_user_id }) => login_user_id === loginUserId)
    .toSorted((a, b) => (a.last_seen_at < b.last_seen_at ? 1 : -1));
}

/**
 * A device as its owner sees it. `active` is false when no messages are sent to it: its push service no longer knows it, or
 * it was not seen for 270 days.
 */
const shownDeviceSchema = v.object({
  id: v.string(),
  active: v.boolean(),
  platform: deviceItem.schema.entries.platform,
  token_type: v.picklist(tokenTypes),
  created_at: timestampField,
  last_seen_at: timestampField,
  related_at: v.optional(timestampField),
});
type ShownDevice = v.InferOutput<typeof shownDeviceSchema>;

export const deviceListSchema = v.object({ devices: v.array(shownDeviceSchema) });

/** The devices of a person, as the person sees them: all of them, the one seen last first. */
export async function listDevices(loginUserId: string): Promise<v.InferOutput<typeof deviceListSchema>> {
  const related = await readCurrentDevices(loginUserId);
  return { devices: related.map(shown) };
}

const shown = (found: Device): ShownDevice => ({
  id: found.device_id,
  platform: found.platform,
  token_type: tokenTypeOf(found),
  active: isActive(found),
  created_at: found.created_at,
  last_seen_at: found.last_seen_at,
  related_at: found.related_at,
});
