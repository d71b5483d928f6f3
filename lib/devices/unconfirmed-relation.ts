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
import { reasonAgainst, relationBy } from './relation.ts';

/** The most devices of a person that were related without a recent login. */
const mostUnconfirmed = 9;

/**
 * Relates a device without a recent login. One that is the person's already stays confirmed if it
 * was. For another one, a transaction writes the device and its place among the unconfirmed ones of
 * the person, so they stay few, however many requests there are at once.
 * @throws ServiceError as `relateDevice` does
 */
export async function relateUnconfirmed(
  caller: AuthenticatedUser,
  user: LoginUser,
  id: string,
): Promise<void> {
  const { login_user_id } = user;
  const { set, remove, when } = relationBy(caller, user);
  const relateAgain = async () => {
    const isTheirs = { login_user_id: { is: login_user_id } };
    return (await updateItem(deviceItem(id), { set, remove, when: { ...when, ...isTheirs } })).done;
  };

  // 1. One that is theirs, as the index shows, needs one write.
  const shown = await findRelated(login_user_id);
  const isShown = shown.some(({ pk }) => pk === deviceKey(id).pk);
  if (isShown && (await relateAgain())) return;

  // 2. Another one needs a place. The transaction is made if nobody has changed the places or the
  // owner.
  let places = user.unconfirmed_devices;
  let former: string | undefined;
  const relateOnce = async () => {
    const others = await requirePlace(caller, shown, idsIn(places), id);
    const device = update(deviceItem(id), {
      set,
      remove: [...remove, 'confirmed_login_user_id'],
      when: { ...when, login_user_id: { is: former } },
    });
    const person = update(loginUserItem(login_user_id), {
      set: { unconfirmed_devices: [...others, id].join(' ') },
      when: { ...whileActive, unconfirmed_devices: { is: places } },
    });
    const outcome = await writeTogether([device, person]);
    if (outcome.done) return true;
    const { refused } = outcome;
    if (refused.has(person)) places = placesOf(caller, refused.get(person));
    if (!refused.has(device)) return undefined;

    // 3. It is somebody else's device, or theirs though the index did not show it, or can't be
    // related.
    const found = refused.get(device);
    const reason = reasonAgainst(caller, found);
    if (!found || reason) throw reason;
    const { login_user_id: owner } = deviceItem.parse(found);
    if (owner === login_user_id && (await relateAgain())) return true;
    former = owner;
    return undefined;
  };
  await retryOnConflict(relateOnce, 'Others keep relating the device.');
  // In the audit line: whoever knows a device's id can take its messages.
  if (former !== login_user_id) annotateIds({ former_login_user_id: former });
}

/**
 * The unconfirmed devices of a person, whose item was found changed.
 * @throws ServiceError if they are blocked or gone
 */
function placesOf(caller: AuthenticatedUser, found: Item | undefined): string | undefined {
  const changed = {
    ...caller,
    user: loginUserIn(found),
    isDeleted: found?.deleted_at !== undefined,
  };
  return requireActiveUser(changed, 'unprocessable_entity').unconfirmed_devices;
}

const idsIn = (places: string | undefined): string[] => places?.split(' ') ?? [];

/**
 * Checks that a person may have one more unconfirmed device. Reads the devices only if there might
 * be too many.
 * @param shown the keys of the devices that the index shows
 * @param places the ids of their unconfirmed devices, of which some may be theirs no more
 * @returns the ids of the other devices that have a place
 * @throws ServiceError `insufficient_user_authentication` if they may not
 */
async function requirePlace(
  caller: AuthenticatedUser,
  shown: Key[],
  places: string[],
  newDeviceId: string,
): Promise<string[]> {
  const others = places.filter((id) => id !== newDeviceId);
  const keys = [...shown, ...others.map(deviceKey)].filter(
    ({ pk }) => pk !== deviceKey(newDeviceId).pk,
  );
  const known = new Set(keys.map(({ pk }) => pk));
  if (others.length < mostUnconfirmed && known.size < mostDevices) return others;

  const devices = devicesAmong(await readMembers(keys));
  const related = devices.filter(({ login_user_id }) => login_user_id === caller.login_user_id);
  const taking = new Set(
    devices.filter((device) => hasPlace(device, caller)).map(({ device_id }) => device_id),
  );
  const taken = others.filter((id) => taking.has(id));
  if (related.length >= mostDevices || taken.length >= mostUnconfirmed) requireRecentLogin(caller);
  return taken;
}

/**
 * Whether a device still takes the place of an unconfirmed one. That of a replaced device is its
 * successor's.
 */
const hasPlace = (device: Device, { login_user_id }: AuthenticatedUser): boolean =>
  device.replaced_by !== undefined ||
  (device.login_user_id === login_user_id && !isConfirmed(device));
