import { timestamp } from '../foundation/clock.ts';
import { definedOnly } from '../foundation/defined-only.ts';
import type { LoginUser } from '../login-users/login-user.ts';
import { updateItem } from '../storage/items.ts';
import { devicesOfLoginUserList } from '../storage/keys.ts';
import { type Device, deviceItem, isConfirmed, sameRelation } from './device.ts';
import {
  endRelationsBeyond,
  isLoggedOut,
  mostDevices,
  readRelatedDevices,
  unrelate,
} from './related-devices.ts';

/** A person who gets the devices of another one, and the session that these are linked by then. */
interface NewOwner {
  user: LoginUser;
  /** Undefined if the person has never had a session. */
  sessionId: string | undefined;
}

/**
 * Links the devices of a person to another one; can be repeated. Their session links them, so that
 * its logout ends the link. An import has linked some without a session, which stay so.
 * @returns how many were moved, and how many links of either have ended beyond the limit
 */
export async function moveRelations(from: string, to: NewOwner) {
  const [coming, theirs] = await Promise.all([
    readRelatedDevices(from),
    readRelatedDevices(to.user.login_user_id),
  ]);
  const both = [...coming, ...theirs].toSorted((a, b) =>
    a.last_seen_at < b.last_seen_at ? 1 : -1,
  );
  const ended = await endRelationsBeyond(both, mostDevices);
  const staying = coming.filter(({ device_id }) => !ended.includes(device_id));
  const moved = await Promise.all(staying.map((device) => moveRelation(device, to)));
  return { moved: moved.filter(Boolean).length, ended: ended.length };
}

/**
 * Links a device to another person, unless somebody else has it meanwhile.
 * @returns whether it did. A link that had ended with all sessions of the Login App is not revived
 */
async function moveRelation(device: Device, { user, sessionId }: NewOwner): Promise<boolean> {
  const { device_id, login_user_id = '', related_session_id } = device;
  const isOfSession = related_session_id !== undefined;
  const hasNoSession = isOfSession && sessionId === undefined;
  if (hasNoSession || (await isLoggedOut(device, undefined))) {
    await unrelate(login_user_id, device_id, related_session_id);
    return false;
  }
  const { done } = await updateItem(deviceItem(device_id), {
    set: definedOnly({
      login_user_id: user.login_user_id,
      login_user_since: user.created_at,
      related_at: timestamp(),
      related_session_id: isOfSession ? sessionId : undefined,
      confirmed_login_user_id: isConfirmed(device) ? user.login_user_id : undefined,
      list: devicesOfLoginUserList(user.login_user_id),
    }),
    when: sameRelation(device),
  });
  return done;
}
