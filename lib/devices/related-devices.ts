import * as v from 'valibot';
import { findStatus } from '../login-apps/status.ts';
import { sessionAllows } from '../login-users/sessions-of-person.ts';
import { timestampField } from '../schema/json-schema.ts';
import { type Item, keyOf, readEach, updateOwnItem } from '../storage/items.ts';
import { devicesOfLoginUserList, type Key, loginUserKey, sessionKey } from '../storage/keys.ts';
import { readGlobalList, readMembers } from '../storage/lists.ts';
import {
  type Device,
  deviceItem,
  devicesAmong,
  isActive,
  isConfirmed,
  relation,
  tokenTypeOf,
  tokenTypes,
} from './device.ts';

/** The most devices of a person. */
export const mostDevices = 20;
/** More than a person can have, and what one batch read takes. */
const mostRead = 100;

/** The keys of the devices that the index shows as a Login User's. It lags behind. */
export async function findRelated(loginUserId: string): Promise<Key[]> {
  const list = devicesOfLoginUserList(loginUserId);
  const { items } = await readGlobalList('by_list', list, { limit: mostRead });
  return items.map(keyOf);
}

/**
 * Every device that is linked to a Login User, the one seen last first. The index lags behind, so
 * each device is read again: one that is another person's by now is never among them.
 * @param least if the index shows fewer devices than these, none is read or returned
 */
export async function readRelatedDevices(loginUserId: string, least = 1): Promise<Device[]> {
  const shown = await findRelated(loginUserId);
  if (shown.length < least) return [];
  const devices = devicesAmong(await readMembers(shown));
  const related = devices.filter(({ login_user_id }) => login_user_id === loginUserId);
  return related.toSorted((a, b) => (a.last_seen_at < b.last_seen_at ? 1 : -1));
}

/**
 * The devices of a Login User whose link is still valid, at most 20. Requests at the same time can
 * link more for a moment; whoever reads them then unlinks the surplus.
 */
export async function readCurrentDevices(loginUserId: string): Promise<Device[]> {
  const related = await readRelatedDevices(loginUserId);
  const devices = await endLeftoverRelations(related);
  const current = devices.filter(({ login_user_id }) => login_user_id !== undefined);
  const ended = await endRelationsBeyond(current, mostDevices);
  return current.filter(({ device_id }) => !ended.includes(device_id));
}

/**
 * Unlinks the devices of a person beyond a number: first those with an unconfirmed link, then those
 * that were seen least recently.
 * @param related the devices of the person, the one seen last first
 * @returns the ids of the devices that were unlinked
 */
export async function endRelationsBeyond(related: Device[], most: number): Promise<string[]> {
  const confirmed = related.filter((device) => isConfirmed(device));
  const unconfirmed = related.filter((device) => !isConfirmed(device));
  const surplus = [...confirmed, ...unconfirmed].slice(most);
  const unlink = async ({ device_id, login_user_id = '' }: Device) => {
    const isUnlinked = await unrelate(login_user_id, device_id);
    return isUnlinked ? [device_id] : [];
  };
  const unlinked = await Promise.all(surplus.map(unlink));
  return unlinked.flat();
}

const shownDeviceSchema = v.object({
  id: v.string(),
  active: v.boolean(),
  platform: deviceItem.schema.entries.platform,
  token_type: v.picklist(tokenTypes),
  created_at: timestampField,
  last_seen_at: timestampField,
  related_at: v.optional(timestampField),
});

export const deviceListSchema = v.object({ devices: v.array(shownDeviceSchema) });

export async function listDevices(
  loginUserId: string,
): Promise<v.InferOutput<typeof deviceListSchema>> {
  const related = await readCurrentDevices(loginUserId);
  const devices = related.map((device) => {
    const added = {
      id: device.device_id,
      token_type: tokenTypeOf(device),
      active: isActive(device),
    };
    return v.parse(shownDeviceSchema, { ...device, ...added });
  });
  return { devices };
}

/**
 * Unlinks a device from a Login User.
 * @param sessionId the session that must have linked it, if one is named
 * @returns false when there is no such link
 */
export function unrelate(
  loginUserId: string,
  deviceId: string,
  sessionId?: string,
): Promise<boolean> {
  const isTheirs = { login_user_id: { is: loginUserId } };
  const isOfSession = { related_session_id: { is: sessionId } };
  return updateOwnItem(deviceItem(deviceId), {
    remove: relation,
    when: sessionId === undefined ? isTheirs : { ...isTheirs, ...isOfSession },
  });
}

/**
 * Unlinks devices whose link is left over: the session that made it was logged out, or its Login
 * User was deleted, while the index did not show the device yet. A link that ended with all
 * sessions of its Login App stays in the table, since that logout can be undone.
 * @returns all the devices; those whose link has ended have no owner
 */
export async function endLeftoverRelations(devices: Device[]): Promise<Device[]> {
  const itemOf = await readEach(devices.flatMap(ownerKeys));
  const withValidOwner = async (device: Device): Promise<Device> => {
    if (device.login_user_id === undefined) return device;
    const [user, session] = ownerKeys(device).map(itemOf);
    if (!isCurrent(device, user, session)) {
      await unrelate(device.login_user_id, device.device_id, device.related_session_id);
      return withoutOwner(device);
    }
    return (await isLoggedOut(device, session)) ? withoutOwner(device) : device;
  };
  return Promise.all(devices.map(withValidOwner));
}

/** The keys of a device's Login User, and of the session that linked it to them. */
function ownerKeys({ login_user_id, related_session_id = '' }: Device): Key[] {
  if (login_user_id === undefined) return [];
  return [loginUserKey(login_user_id), sessionKey(login_user_id, related_session_id)];
}

/**
 * Whether a device is linked to the Login User who is there now, and the session that made the link
 * still allows it, if one made it.
 */
function isCurrent(device: Device, user: Item | undefined, session: Item | undefined): boolean {
  const isSamePerson = user?.created_at === device.login_user_since;
  const isDeleted = user?.deleted_at !== undefined;
  if (!isSamePerson || isDeleted) return false;
  const { related_session_id: sessionId, related_at: relatedAt = '' } = device;
  if (sessionId === undefined) return true;
  return sessionAllows(user, session, { sessionId, relatedAt });
}

/**
 * Whether the session of a link ended with all sessions of its Login App. A session that is not
 * stored counts as begun when the link was made.
 */
export async function isLoggedOut(device: Device, session: Item | undefined): Promise<boolean> {
  const { sessionsValidFrom } = await findStatus(device.login_app_id);
  const startedAt = session?.started_at ?? Date.parse(device.related_at ?? '') / 1000;
  return Number(startedAt) < sessionsValidFrom;
}

function withoutOwner(device: Device): Device {
  const { login_user_id, login_user_since, related_at, related_session_id, ...others } = device;
  return others;
}
