import { isId } from '../foundation/ids.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { idsAmong } from '../log/audit.ts';
import { annotateIds } from '../log/request-fields.ts';
import type { Device } from './device.ts';
import { confirmRelated, findRelated, mostDevices, readRelatedDevices } from './related-devices.ts';
import { unrelate } from './relation.ts';

/**
 * Ends the relation of a device to a Login User: one conditional write.
 * @throws ServiceError `not_found` when the device is not theirs, or does not exist
 */
export async function endRelation(loginUserId: string, id: string): Promise<void> {
  if (!isId('d_…', id) || !(await unrelate(loginUserId, id)))
    throw new ServiceError('not_found', 'The Login User has no such device.');
}

/**
 * Ends the relations of some devices, when the sessions that made them are logged out, so that the next user of the phone
 * gets no message for this Login User. A device that another session has related since stays as it is.
 */
export async function endRelationsWhere(loginUserId: string, isEnding: (device: Device) => boolean) {
  const ending = (await readRelatedDevices(loginUserId)).filter(isEnding);
  await Promise.all(
    ending.map(({ device_id, related_session_id }) => unrelate(loginUserId, device_id, related_session_id)),
  );
}

/** Ends every relation of a Login User that the index shows. Returns how many there were. */
export async function endAllRelations(loginUserId: string): Promise<number> {
  const related = await readRelatedDevices(loginUserId);
  await Promise.all(related.map(({ device_id }) => unrelate(loginUserId, device_id)));
  return related.length;
}

/**
 * The devices whose relations end for the sake of a new one, so that at most 20 remain: those seen least recently. Takes one
 * request when there are fewer.
 */
export async function findSurplus(loginUserId: string, newDeviceId: string): Promise<Device[]> {
  const keys = await findRelated(loginUserId);
  if (keys.length < mostDevices) return [];
  const related = await confirmRelated(loginUserId, keys);
  return related.filter(({ device_id }) => device_id !== newDeviceId).slice(mostDevices - 1);
}

/** Ends the relations that a new one leaves no room for. */
export async function endSurplusRelations(loginUserId: string, newDeviceId: string): Promise<void> {
  const surplus = (await findSurplus(loginUserId, newDeviceId)).map(({ device_id }) => device_id);
  const ended = await Promise.all(surplus.map((id) => unrelate(loginUserId, id)));
  annotateIds(idsAmong({ evicted_device_ids: surplus.filter((_, place) => ended[place]) }));
}
