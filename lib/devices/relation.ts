import { findStatus } from '../login-apps/status.ts';
import { sessionAllows } from '../login-users/sessions-of-person.ts';
import { type Item, readAll, updateOwnItem } from '../storage/items.ts';
import { type Key, loginUserKey, sessionKey } from '../storage/keys.ts';
import { type Device, deviceItem } from './device.ts';

/** The attributes of a device that say whose it is. */
export const relation = ['login_user_id', 'login_user_since', 'related_at', 'related_session_id', 'list'];

/** Ends the relation of a device to a Login User. False when there is none, or (where a session is named) not by that session. */
export const unrelate = (loginUserId: string, deviceId: string, sessionId?: string): Promise<boolean> =>
  updateOwnItem(deviceItem(deviceId), {
    remove: relation,
    when: {
      login_user_id: { is: loginUserId },
      ...(sessionId !== undefined && { related_session_id: { is: sessionId } }),
    },
  });

/**
 * Ends the leftover relations of some devices: the session that made one was logged out, or its Login User was deleted,
 * while the index did not show the device yet. Returns all the devices; those whose relation ended here have no owner.
 *
 * A relation that ended with all sessions of its Login App is left in the table, since a logout can be undone.
 */
export async function endLeftoverRelations(devices: Device[]): Promise<Device[]> {
  const keys = new Map(devices.flatMap(ownerKeys).map((key) => [nameOf(key), key]));
  const owners = [...keys.values()];
  const items = await readAll(owners);
  const found = new Map(owners.map((key, place) => [nameOf(key), items[place]]));
  return Promise.all(
    devices.map(async (device) => {
      if (stands(device, found)) return (await isLoggedOut(device, found)) ? withoutOwner(device) : device;
      await unrelate(device.login_user_id ?? '', device.device_id, device.related_session_id);
      return withoutOwner(device);
    }),
  );
}

/** The keys of the Login User and the session of a relation; none for a device without an owner. */
function ownerKeys({ login_user_id, related_session_id = '' }: Device): Key[] {
  if (login_user_id === undefined) return [];
  return [loginUserKey(login_user_id), sessionKey(login_user_id, related_session_id)];
}

/** Whether a relation is to the Login User who is there now, and the session that made it, if one did, allows it. */
function stands(device: Device, found: Map<string, Item | undefined>): boolean {
  const [userKey, endedKey] = ownerKeys(device);
  if (!userKey || !endedKey) return true;
  const [user, session] = [found.get(nameOf(userKey)), found.get(nameOf(endedKey))];
  const isTheirs = user?.created_at === device.login_user_since && user?.deleted_at === undefined;
  const { related_session_id: sessionId, related_at: relatedAt = '' } = device;
  return isTheirs && (sessionId === undefined || sessionAllows(user, session, { sessionId, relatedAt }));
}

/** Whether the session of a relation ended with all sessions of its Login App; one not stored is as old as the relation. */
async function isLoggedOut(device: Device, found: Map<string, Item | undefined>): Promise<boolean> {
  const [, key] = ownerKeys(device);
  if (!key) return false;
  const { sessionsValidFrom } = await findStatus(device.login_app_id);
  const startedAt = found.get(nameOf(key))?.started_at ?? Date.parse(device.related_at ?? '') / 1000;
  return Number(startedAt) < sessionsValidFrom;
}

function withoutOwner(device: Device): Device {
  const { login_user_id, login_user_since, related_at, related_session_id, ...others } = device;
  return others;
}

const nameOf = ({ pk, sk }: Key): string => `${pk}\n${sk}`;
