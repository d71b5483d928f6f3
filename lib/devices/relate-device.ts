import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { isId } from '../foundation/ids.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { annotateIds } from '../log/request-fields.ts';
import { type AuthenticatedUser, requireActiveUser } from '../login-users/login-user.ts';
import { isLoginRecent, requireRecentLogin } from '../login-users/recent-login.ts';
import { updateItem } from '../storage/items.ts';
import { devicesOfLoginUserList } from '../storage/keys.ts';
import { type Device, deviceItem, devicesAmong, notExpired } from './device.ts';
import { mostDevices, readRelatedDevices, unrelate } from './related-devices.ts';

export const relationRequestSchema = v.object(
  { device_id: v.string('device_id must be a string.') },
  'The body must be a JSON object with the field device_id.',
);

/**
 * Relates a registered device to a Login User, in one conditional write; the last one wins. Relations beyond the limit per
 * person end when the device was not theirs before. This takes a recent login: a stolen token must not take messages away
 * from the person's phones.
 * @throws ServiceError `not_found` for an unknown user or a device that is unknown or was replaced, `forbidden` for one of
 *   another Login App, `unprocessable_entity` for a blocked user or a disabled device, `insufficient_user_authentication`
 */
export async function relateDevice(caller: AuthenticatedUser, id: string): Promise<void> {
  const { login_app_id, login_user_id: loginUserId, session_id: related_session_id } = caller;
  const { created_at } = requireActiveUser(caller, 'unprocessable_entity');
  if (!isId('d_…', id)) throw noSuchDevice();
  const isRecent = isLoginRecent(caller);
  if (!isRecent && (await findSurplus(loginUserId, id)).length > 0) requireRecentLogin(caller);
  const update = await updateItem(deviceItem(id), {
    set: {
      login_user_id: loginUserId,
      login_user_since: created_at,
      related_at: timestamp(),
      related_session_id,
      list: devicesOfLoginUserList(loginUserId),
    },
    when: {
      login_app_id: { is: login_app_id },
      disabled_at: { exists: false },
      replaced_by: { exists: false },
      ...notExpired(),
    },
  });
  if (update.done) {
    const former_login_user_id = update.before?.login_user_id;
    if (former_login_user_id === loginUserId) return;
    // In the audit line: whoever knows a device's id can take its messages.
    annotateIds({ former_login_user_id });
    if (isRecent) await endSurplusRelations(loginUserId, id);
    return;
  }
  const [found] = update.found ? devicesAmong([update.found]) : [];
  if (found && found.login_app_id !== login_app_id)
    throw new ServiceError('forbidden', 'The device does not belong to the Login App of this token.');
  if (!found || found.replaced_by !== undefined) throw noSuchDevice();
  const message = 'The device is disabled; register it again first.';
  throw new ServiceError('unprocessable_entity', message, { errors: [{ field: 'device_id', message }] });
}

const noSuchDevice = (): ServiceError => new ServiceError('not_found', 'The device does not exist.');

/** Ends the relation of a device to a Login User. @throws ServiceError `not_found` when it is not theirs, or does not exist */
export async function endRelation(loginUserId: string, id: string): Promise<void> {
  if (!isId('d_…', id) || !(await unrelate(loginUserId, id)))
    throw new ServiceError('not_found', 'The Login User has no such device.');
}

/** Ends all relations, or those of some devices, unless another session has related one since. @returns how many there were */
export async function endRelationsWhere(loginUserId: string, isEnding?: (device: Device) => boolean) {
  const ending = (await readRelatedDevices(loginUserId)).filter(isEnding ?? (() => true));
  const end = ({ device_id, related_session_id }: Device) =>
    unrelate(loginUserId, device_id, isEnding && related_session_id);
  await Promise.all(ending.map(end));
  return ending.length;
}

/** The devices whose relations end for a new one: those seen least recently. */
async function findSurplus(loginUserId: string, newDeviceId: string): Promise<Device[]> {
  const related = await readRelatedDevices(loginUserId, mostDevices);
  return related.filter(({ device_id }) => device_id !== newDeviceId).slice(mostDevices - 1);
}

async function endSurplusRelations(loginUserId: string, newDeviceId: string): Promise<void> {
  const surplus = (await findSurplus(loginUserId, newDeviceId)).map(({ device_id }) => device_id);
  const ended = await Promise.all(surplus.map((id) => unrelate(loginUserId, id)));
  annotateIds({ evicted_device_ids: surplus.filter((_, place) => ended[place]) });
}
