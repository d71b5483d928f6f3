import { annotateIds } from '../log/request-fields.ts';
import {
  type AuthenticatedUser,
  type LoginUser,
  loginUserIn,
  loginUserItem,
  requireActiveUser,
  whileActive,
} from '../login-users/login-user.ts';
import { requireRecentLogin } from '../login-users/recent-login.ts';
import { retryOnConflict } from '../storage/batches.ts';
import { type Item, updateItem } from '../storage/items.ts';
import { deviceKey, type Key } from '../storage/keys.ts';
import { readMembers } from '../storage/lists.ts';
import { update, writeTogether } from '../storage/transactions.ts';
import { type Device, deviceItem, devicesAmong, isConfirmed } from './device.ts';
import { findRelated, mostDevices } from './related-devices.ts';
import { relationBy, relationError } from './relation.ts';

/** The most devices of a person that were linked without a recent login. */
const mostUnconfirmed = 9;

/**
 * Links a device without a recent login. One that is the person's already stays confirmed if it
 * was. For another one, a transaction writes the device and the list of the person's unconfirmed
 * devices, so that they stay few, however many requests there are at once.
 * @throws ServiceError as `relateDevice` does
 */
export async function relateUnconfirmed(
  caller: AuthenticatedUser,
  user: LoginUser,
  id: string,
): Promise<void> {
  const { login_user_id } = user;
  const { set, remove, when } = relationBy(caller, user);
  const relateAgain = async (): Promise<boolean> => {
    const whileTheirs = { ...when, login_user_id: { is: login_user_id } };
    const updated = await updateItem(deviceItem(id), { set, remove, when: whileTheirs });
    return updated.done;
  };

  // 1. A device that the index shows as theirs needs one write.
  const shown = await findRelated(login_user_id);
  const isShown = shown.some(({ pk }) => pk === deviceKey(id).pk);
  if (isShown && (await relateAgain())) return;

  // 2. Another one joins the unconfirmed ones. The transaction is made unless somebody has changed
  // the list of these or the owner of the device.
  let storedList = user.unconfirmed_devices;
  let owner: string | undefined;
  const relateOnce = async (): Promise<true | undefined> => {
    const others = await requireRoom(caller, shown, idsIn(storedList), id);
    const deviceWrite = update(deviceItem(id), {
      set,
      remove: [...remove, 'confirmed_login_user_id'],
      when: { ...when, login_user_id: { is: owner } },
    });
    const personWrite = update(loginUserItem(login_user_id), {
      set: { unconfirmed_devices: [...others, id].join(' ') },
      when: { ...whileActive, unconfirmed_devices: { is: storedList } },
    });
    const outcome = await writeTogether([deviceWrite, personWrite]);
    if (outcome.done) return true;
    const failed = outcome.refused;
    if (failed.has(personWrite)) storedList = changedList(caller, failed.get(personWrite));
    if (!failed.has(deviceWrite)) return undefined;

    // 3. The device is somebody else's, or it is theirs though the index did not show it, or it
    // can't be linked.
    const found = failed.get(deviceWrite);
    const error = relationError(caller, found);
    if (!found || error) throw error;
    owner = deviceItem.parse(found).login_user_id;
    const isTheirs = owner === login_user_id;
    if (isTheirs && (await relateAgain())) return true;
    return undefined;
  };
  await retryOnConflict(relateOnce, 'Others keep relating the device.');
  // The audit line names the person who had the device: whoever knows its id can take its messages.
  if (owner !== login_user_id) annotateIds({ former_login_user_id: owner });
}

/**
 * The list of a person's unconfirmed devices after somebody has changed their item.
 * @throws ServiceError if the person is blocked or deleted
 */
function changedList(caller: AuthenticatedUser, item: Item | undefined): string | undefined {
  const current = {
    ...caller,
    user: loginUserIn(item),
    isDeleted: item?.deleted_at !== undefined,
  };
  return requireActiveUser(current, 'unprocessable_entity').unconfirmed_devices;
}

/** The ids in the stored list of a person's unconfirmed devices, which has spaces between them. */
const idsIn = (storedList: string | undefined): string[] => storedList?.split(' ') ?? [];

/**
 * Checks that a person may have one more unconfirmed device. Reads the devices only if there might
 * be too many.
 * @param shown the keys of the devices that the index shows as theirs
 * @param listed the ids of their unconfirmed devices, of which some may be theirs no more
 * @returns the ids of the other devices that stay in the list
 * @throws ServiceError `insufficient_user_authentication` if they may not
 */
async function requireRoom(
  caller: AuthenticatedUser,
  shown: Key[],
  listed: string[],
  newDeviceId: string,
): Promise<string[]> {
  const others = listed.filter((id) => id !== newDeviceId);
  const newKey = deviceKey(newDeviceId);
  const keys = [...shown, ...others.map(deviceKey)].filter(({ pk }) => pk !== newKey.pk);
  const distinct = new Set(keys.map(({ pk }) => pk));
  const hasRoom = others.length < mostUnconfirmed && distinct.size < mostDevices;
  if (hasRoom) return others;

  const devices = devicesAmong(await readMembers(keys));
  const related = devices.filter(({ login_user_id }) => login_user_id === caller.login_user_id);
  const counting = devices.filter((device) => countsAsUnconfirmed(device, caller));
  const countingIds = new Set(counting.map(({ device_id }) => device_id));
  const staying = others.filter((id) => countingIds.has(id));
  const isFull = related.length >= mostDevices || staying.length >= mostUnconfirmed;
  if (isFull) requireRecentLogin(caller);
  return staying;
}

/**
 * Whether a device in the list still counts as an unconfirmed device of the person. A replaced one
 * does, since it stands for the device that has replaced it.
 */
function countsAsUnconfirmed(device: Device, { login_user_id }: AuthenticatedUser): boolean {
  if (device.replaced_by !== undefined) return true;
  return device.login_user_id === login_user_id && !isConfirmed(device);
}
