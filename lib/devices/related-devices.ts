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
  const { items } = await readGlobalList('by_list', devicesOfLoginUserList(loginUserId), {
    limit: mostRead,
  });
  return items.map(keyOf);
}

/**
 * Every device that is related to a Login User, the one seen last first. The index lags behind, so
 * each device is read again: one that is another person's by now is never among them.
 * @param least none, if the index shows fewer
 */
export async function readRelatedDevices(loginUserId: string, least = 1): Promise<Device[]> {
  const shown = await findRelated(loginUserId);
  const devices = shown.length < least ? [] : devicesAmong(await readMembers(shown));
  return devices
    .filter(({ login_user_id }) => login_user_id === loginUserId)
    .toSorted((a, b) => (a.last_seen_at < b.last_seen_at ? 1 : -1));
}

/**
 * The devices of a Login User whose relation stands, at most 20. More can be related for a moment,
 * by logins at the same time; whoever reads them ends the surplus.
 */
export async function readCurrentDevices(loginUserId: string): Promise<Device[]> {
  const related = await readRelatedDevices(loginUserId);
  const devices = await endLeftoverRelations(related);
  const current = devices.filter(({ login_user_id }) => login_user_id !== undefined);
  const ended = await endRelationsBeyond(current, mostDevices);
  return current.filter(({ device_id }) => !ended.includes(device_id));
}

/**
 * Ends the relations of some devices of a person beyond a number: first those that are unconfirmed,
 * then those of devices that were seen least recently.
 * @param related the one seen last first
 * @returns the ids of the devices whose relations have ended
 */
export async function endRelationsBeyond(related: Device[], most: number): Promise<string[]> {
  const { confirmed = [], unconfirmed = [] } = Object.groupBy(related, (device) =>
    isConfirmed(device) ? 'confirmed' : 'unconfirmed',
  );
  const surplus = [...confirmed, ...unconfirmed].slice(most);
  const ended = await Promise.all(
    surplus.map(({ device_id, login_user_id = '' }) => unrelate(login_user_id, device_id)),
  );
  return surplus.map(({ device_id }) => device_id).filter((_, place) => ended[place]);
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
 * Ends the relation of a device to a Login User, made by a session if one is named. False when
 * there is no such relation.
 */
export const unrelate = (
  loginUserId: string,
  deviceId: string,
  sessionId?: string,
): Promise<boolean> =>
  updateOwnItem(deviceItem(deviceId), {
    remove: relation,
    when: {
      login_user_id: { is: loginUserId },
      ...(sessionId !== undefined && { related_session_id: { is: sessionId } }),
    },
  });

/**
 * Ends the leftover relations of some devices: the session that made one was logged out, or its
 * Login User was deleted, while the index did not show the device yet. A relation that ended with
 * all sessions of its Login App stays in the table, since that can be undone.
 * @returns all the devices, without the owners whose relations have ended
 */
export async function endLeftoverRelations(devices: Device[]): Promise<Device[]> {
  const itemOf = await readEach(devices.flatMap(ownerKeys));
  return Promise.all(
    devices.map(async (device) => {
      if (device.login_user_id === undefined) return device;
      const [user, session] = ownerKeys(device).map(itemOf);
      if (isCurrent(device, user, session))
        return (await isLoggedOut(device, session)) ? withoutOwner(device) : device;
      await unrelate(device.login_user_id, device.device_id, device.related_session_id);
      return withoutOwner(device);
    }),
  );
}

function ownerKeys({ login_user_id, related_session_id = '' }: Device): Key[] {
  if (login_user_id === undefined) return [];
  return [loginUserKey(login_user_id), sessionKey(login_user_id, related_session_id)];
}

/**
 * Whether a relation is to the Login User who is there now, and allowed by the session that made
 * it, if one did.
 */
function isCurrent(device: Device, user: Item | undefined, session: Item | undefined): boolean {
  const isTheirs = user?.created_at === device.login_user_since && user?.deleted_at === undefined;
  const { related_session_id: sessionId, related_at: relatedAt = '' } = device;
  return (
    isTheirs && (sessionId === undefined || sessionAllows(user, session, { sessionId, relatedAt }))
  );
}

/**
 * Whether the session of a relation ended with all sessions of its Login App; one not stored is as
 * old as the relation.
 */
async function isLoggedOut(device: Device, session: Item | undefined): Promise<boolean> {
  const { sessionsValidFrom } = await findStatus(device.login_app_id);
  const startedAt = session?.started_at ?? Date.parse(device.related_at ?? '') / 1000;
  return Number(startedAt) < sessionsValidFrom;
}

function withoutOwner(device: Device): Device {
  const { login_user_id, login_user_since, related_at, related_session_id, ...others } = device;
  return others;
}
