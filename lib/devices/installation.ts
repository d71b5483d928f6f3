import * as v from 'valibot';
import { epochSeconds } from '../clock.ts';
import { type Item, readItems, updateItem } from '../storage/items.ts';
import { deviceKey, devicesOfLoginUserList, installationKey } from '../storage/keys.ts';
import { type Device, deviceLifetimeSeconds } from './device.ts';
import { relation } from './relation.ts';

/** An installation as it is stored: the device that it has, and the one that it had before. */
const installation = v.object({
  device_id: v.string(),
  previous_device_id: v.optional(v.nullable(v.string())),
});

/** What a device takes over from the one whose place it takes: attributes to set. */
type TakenOver = Record<string, unknown>;

/** The attributes that say whose a device is. */
const person = v.object({
  login_user_id: v.string(),
  login_user_since: v.optional(v.string()),
  related_at: v.optional(v.string()),
  related_session_id: v.optional(v.string()),
});

/** In which attributes a replaced device keeps whose it was, for a registration that was interrupted. */
const former = Object.fromEntries(Object.keys(person.entries).map((name) => [`former_${name}`, name]));
export const formerAttributes = Object.keys(former);

/** Seconds until a device that was replaced is deleted: 30 days. */
const replacedLifetimeSeconds = 30 * 86_400;

/**
 * Makes a device the current one of its installation. One write decides: from then on, no message goes to the device
 * that the installation had before, even if this process dies here. At most one more request finds what the new device
 * takes over. The caller writes that together with the new device, as the last step. After a crash before it, the next
 * registration finds `previous_device_id` and finishes the work.
 */
export async function takeInstallation(
  loginAppId: string,
  installationId: string,
  deviceId: string,
): Promise<TakenOver> {
  const update = await updateItem(installationKey(loginAppId, installationId), {
    set: { device_id: deviceId, expires_at: epochSeconds() + deviceLifetimeSeconds },
    copy: { previous_device_id: 'device_id' },
  });
  if (!update.done) return {};
  const before = v.parse(v.optional(installation), update.before);
  // When an answer was lost, the item after the update still tells which device was replaced.
  const last = before?.device_id ?? update.after?.previous_device_id ?? deviceId;
  if (last !== deviceId) return replace(String(last), installationId, deviceId);
  const earlier = before?.previous_device_id ?? deviceId;
  return earlier === deviceId ? {} : finish(earlier, installationId, deviceId);
}

/** Takes a device out of all lists, and keeps whose it was. One write. */
async function replace(id: string, installationId: string, by: string): Promise<TakenOver> {
  const update = await updateItem(deviceKey(id), {
    set: { replaced_by: by, expires_at: epochSeconds() + replacedLifetimeSeconds },
    copy: former,
    remove: ['shard', 'took_over', ...relation],
    when: { installation_id: { is: installationId } },
  });
  if (!update.done) return {};
  return takenOver(id, update.after ? formerOwner(update.after) : update.before);
}

/** What a device still has to take over, if the registration that changed the installation was interrupted. One read. */
async function finish(earlier: string, installationId: string, deviceId: string): Promise<TakenOver> {
  const [replaced, present] = await readItems([deviceKey(earlier), deviceKey(deviceId)]);
  if (present?.took_over === earlier || replaced?.installation_id !== installationId) return {};
  return takenOver(earlier, replaced.replaced_by === deviceId ? formerOwner(replaced) : replaced);
}

const formerOwner = (item: Item): Item =>
  Object.fromEntries(Object.entries(former).map(([kept, name]) => [name, item[kept] ?? undefined]));

function takenOver(id: string, owned: Item = {}): TakenOver {
  const { success, output } = v.safeParse(person, owned);
  if (!success) return { took_over: id };
  return { took_over: id, ...output, list: devicesOfLoginUserList(output.login_user_id) };
}

/**
 * Makes an imported device the current one of its installation, unless there is one. False when that is another device.
 */
export async function claimInstallation(
  loginAppId: string,
  installationId: string,
  deviceId: string,
): Promise<boolean> {
  const update = await updateItem(installationKey(loginAppId, installationId), {
    set: { expires_at: epochSeconds() + deviceLifetimeSeconds },
    setIfAbsent: { device_id: deviceId },
  });
  const { device_id = deviceId } = (update.done && (update.before ?? update.after)) || {};
  return device_id === deviceId;
}

/** Filters out devices that another device of the same installation has replaced. */
export async function notReplaced(devices: Device[]): Promise<Device[]> {
  const places = devices.map(({ login_app_id, installation_id }) =>
    installation_id === undefined ? undefined : installationKey(login_app_id, installation_id),
  );
  const keys = [...new Map(places.flatMap((key) => (key ? [[key.pk, key] as const] : []))).values()];
  const items = await readItems(keys);
  const current = new Map(keys.map(({ pk }, place) => [pk, items[place]?.device_id]));
  return devices.filter(({ device_id, replaced_by }, place) => {
    const owner = current.get(places[place]?.pk ?? '');
    return replaced_by === undefined && (owner === undefined || owner === device_id);
  });
}
