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
import { noSuchDevice, reasonAgainst, relationBy } from './relation.ts';
import { relateUnconfirmed } from './unconfirmed-relation.ts';

export const relationRequestSchema = v.object(
  { device_id: v.string('device_id must be a string.') },
  'The body must be a JSON object with the field device_id.',
);

/**
 * Relates a registered device to a Login User; the last one wins. After a recent login that is one
 * conditional write. Relations beyond the limit per person then end if the device was not theirs
 * before.
 *
 * Without a recent login nobody loses a device: a stolen token must not take messages away from the
 * person's phones. Such a relation is unconfirmed, and a person has only a few of them.
 * @throws ServiceError `not_found` for an unknown user or a device that is unknown or was replaced,
 *   `forbidden` for one of another Login App, `unprocessable_entity` for a blocked user or a
 *   disabled device, `insufficient_user_authentication`
 */
export async function relateDevice(caller: AuthenticatedUser, id: string): Promise<void> {
  const user = requireActiveUser(caller, 'unprocessable_entity');
  if (!isId('d_…', id)) throw noSuchDevice();
  await (isLoginRecent(caller)
    ? relateConfirmed(caller, user, id)
    : relateUnconfirmed(caller, user, id));
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
  if (!updated.done) throw reasonAgainst(caller, updated.found) ?? noSuchDevice();
  const former_login_user_id = updated.before?.login_user_id;
  if (former_login_user_id === login_user_id) return;
  // In the audit line: whoever knows a device's id can take its messages.
  annotateIds({ former_login_user_id });
  await endSurplusRelations(login_user_id, id);
}

/**
 * Ends the relation of a device to a Login User.
 * @throws ServiceError `not_found` when it is not theirs, or does not exist
 */
export async function endRelation(loginUserId: string, id: string): Promise<void> {
  if (!isId('d_…', id) || !(await unrelate(loginUserId, id)))
    throw new ServiceError('not_found', 'The Login User has no such device.');
}

/**
 * Ends all relations, or those of some devices, unless another session has related one since.
 * @returns how many there were
 */
export async function endRelationsWhere(
  loginUserId: string,
  isEnding?: (device: Device) => boolean,
) {
  const ending = (await readRelatedDevices(loginUserId)).filter(isEnding ?? (() => true));
  const end = ({ device_id, related_session_id }: Device) =>
    unrelate(loginUserId, device_id, isEnding && related_session_id);
  await Promise.all(ending.map(end));
  return ending.length;
}

/** Ends the relations beyond the limit per person, but not that of a new device. */
async function endSurplusRelations(loginUserId: string, newDeviceId: string): Promise<void> {
  const related = await readRelatedDevices(loginUserId, mostDevices);
  const others = related.filter(({ device_id }) => device_id !== newDeviceId);
  const evicted_device_ids = await endRelationsBeyond(others, mostDevices - 1);
  annotateIds({ evicted_device_ids });
}
