import * as v from 'valibot';
import { timestamp } from '../clock.ts';
import { Refusal } from '../refusal.ts';
import { updateItem } from '../storage/items.ts';
import { deviceKey, devicesOfLoginUserList } from '../storage/keys.ts';
import { device, deviceId } from './device.ts';
import { endSurplusRelations } from './end-relation.ts';

/** `{"device_id": "d_…"}`; other fields are ignored. */
export const relationRequest = v.object(
  { device_id: deviceId },
  'The body must be a JSON object with the field device_id.',
);

/** The person whom a device is to be related to. The user is undefined when there is none. */
interface Owner {
  loginAppId: string;
  loginUserId: string;
  sessionId: string;
  user: { login_user_id: string; blocked_at?: string | undefined } | undefined;
}

/**
 * Relates a registered device to a Login User; the last one wins. One conditional write; when the device is new to
 * the Login User, the relations that are too many for one person then end.
 * @throws Refusal `not_found` for an unknown device or user, `forbidden` for a device of another Login App,
 *   `unprocessable_entity` for a blocked user or a disabled device
 */
export async function relateDevice(
  { user, loginUserId, loginAppId, sessionId }: Owner,
  id: string,
): Promise<void> {
  if (!user) throw new Refusal('not_found', 'The Login User does not exist.');
  if (user.blocked_at) throw notRelatable('The Login User is blocked.');
  const update = await updateItem(deviceKey(id), {
    set: {
      login_user_id: loginUserId,
      related_at: timestamp(),
      related_session_id: sessionId,
      list: devicesOfLoginUserList(loginUserId),
    },
    when: { login_app_id: { is: loginAppId }, disabled_at: { exists: false } },
  });
  if (update.done) {
    if (update.before?.login_user_id !== loginUserId) await endSurplusRelations(loginUserId, id);
    return;
  }
  if (!update.found) throw new Refusal('not_found', 'The device does not exist.');
  if (v.parse(device, update.found).login_app_id !== loginAppId) {
    throw new Refusal('forbidden', 'The device does not belong to the Login App of this token.');
  }
  throw notRelatable('The device is disabled; register it again first.');
}

const notRelatable = (message: string): Refusal =>
  new Refusal('unprocessable_entity', message, { errors: [{ field: 'device_id', message }] });
