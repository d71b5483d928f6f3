import * as v from 'valibot';
import { isId } from '../foundation/ids.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { annotateIds } from '../log/request-fields.ts';
import {
  type AuthenticatedUser,
  type LoginUser,
  requireActiveUser,
} from '../login-users/login-user.ts';
import { isLoginRecent } from '../login-users/recent-login.ts';
import { updateItem } from '../storage/items.ts';
import { type Device, deviceItem } from './device.ts';
import {
  endRelationsBeyond,
  mostDevices,
  readRelatedDevices,
  unrelate,
} from './related-devices.ts';
import { noSuchDevice, relationBy, relationError } from './relation.ts';
import { relateUnconfirmed } from './unconfirmed-relation.ts';

export const relationRequestSchema = v.object(
  { device_id: v.string('device_id must be a string.') },
  'The body must be a JSON object with the field device_id.',
);

/**
 * Links a registered device to a Login User, whoever had it before. After a recent login that is
 * one conditional write. If the device is new to the person, their links beyond the limit end.
 *
 * Without a recent login no other device of the person is unlinked: a stolen token must not take
 * messages away from their phones. Such a link is unconfirmed, and a person has only a few of them.
 * @throws ServiceError `not_found` for an unknown user or a device that is unknown or was replaced,
 *   `forbidden` for one of another Login App, `unprocessable_entity` for a blocked user or a
 *   disabled device, `insufficient_user_authentication`
 */
export async function relateDevice(caller: AuthenticatedUser, id: string): Promise<void> {
  const user = requireActiveUser(caller, 'unprocessable_entity');
  if (!isId('d_…', id)) throw noSuchDevice();
  if (isLoginRecent(caller)) await relateConfirmed(caller, user, id);
  else await relateUnconfirmed(caller, user, id);
}

async function relateConfirmed(
  caller: AuthenticatedUser,
  user: LoginUser,
  id: string,
): Promise<void> {
  const { login_user_id } = user;
  const { set, remove, when } = relationBy(caller, user);
  const confirmed = { ...set, confirmed_login_user_id: login_user_id };
  const updated = await updateItem(deviceItem(id), { set: confirmed, remove, when });
  if (!updated.done) throw relationError(caller, updated.found) ?? noSuchDevice();
  const former_login_user_id = updated.before?.login_user_id;
  const wasTheirs = former_login_user_id === login_user_id;
  if (wasTheirs) return;
  // The audit line names the person who had the device: whoever knows its id can take its messages.
  annotateIds({ former_login_user_id });
  await endSurplusRelations(login_user_id, id);
}

/**
 * Unlinks a device from a Login User.
 * @throws ServiceError `not_found` when it is not theirs, or does not exist
 */
export async function endRelation(loginUserId: string, id: string): Promise<void> {
  if (!isId('d_…', id) || !(await unrelate(loginUserId, id)))
    throw new ServiceError('not_found', 'The Login User has no such device.');
}

/**
 * Unlinks all devices of a Login User.
 * @returns how many there were
 */
export async function endAllRelations(loginUserId: string): Promise<number> {
  const devices = await readRelatedDevices(loginUserId);
  await Promise.all(devices.map(({ device_id }) => unrelate(loginUserId, device_id)));
  return devices.length;
}

/** Unlinks some devices of a Login User, except those that another session has linked meanwhile. */
export async function endRelationsWhere(
  loginUserId: string,
  isEnding: (device: Device) => boolean,
): Promise<void> {
  const devices = await readRelatedDevices(loginUserId);
  const ending = devices.filter(isEnding);
  await Promise.all(
    ending.map(({ device_id, related_session_id }) =>
      unrelate(loginUserId, device_id, related_session_id),
    ),
  );
}

/** Unlinks the devices of a person beyond the limit, but never the one that is new to them. */
async function endSurplusRelations(loginUserId: string, newDeviceId: string): Promise<void> {
  const related = await readRelatedDevices(loginUserId, mostDevices);
  const others = related.filter(({ device_id }) => device_id !== newDeviceId);
  const evicted_device_ids = await endRelationsBeyond(others, mostDevices - 1);
  annotateIds({ evicted_device_ids });
}
