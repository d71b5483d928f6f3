import * as v from 'valibot';
import { epochSeconds } from '../foundation/clock.ts';
import { annotateIds } from '../log/request-fields.ts';
import { type Item, itemKind, readEach, updateItem, updateOwnItem } from '../storage/items.ts';
import { devicesOfLoginUserList, installationKey, type Key } from '../storage/keys.ts';
import {
  type Device,
  deviceItem,
  deviceLifetimeSeconds,
  notExpired,
  personSchema,
  relation,
} from './device.ts';

const installationItem = itemKind(
  v.object({
    device_id: v.string(),
    /** The devices of the two registrations before. */
    previous_device_id: v.exactOptional(v.nullable(v.string())),
    earlier_device_id: v.exactOptional(v.nullable(v.string())),
  }),
  installationKey,
);

/** Attributes in which a replaced device keeps its relation, by theirs. */
const former = Object.fromEntries(Object.keys(personSchema.entries).map((name) => [`former_${name}`, name]));
export const formerAttributes = Object.keys(former);

/** Seconds from the replacement of a device to its end: 30 days. */
const replacedLifetimeSeconds = 30 * 86_400;

/**
 * Makes a device the current one of its installation. From this write on, no message goes to the one before. The devices of
 * two earlier registrations are kept: if one is interrupted, and another while it finishes its work, a third finds them.
 * @returns the device whose place it takes, and whether an earlier registration took that already, perhaps without the person
 */
export async function takeInstallation(loginAppId: string, installationId: string, deviceId: string) {
  const update = await updateItem(installationItem(loginAppId, installationId), {
    set: { device_id: deviceId, expires_at: epochSeconds() + deviceLifetimeSeconds },
    copy: { previous_device_id: 'device_id', earlier_device_id: 'previous_device_id' },
  });
  if (!update.done) return undefined;
  const before = update.before && installationItem.parse(update.before);
  const after = update.after && installationItem.parse(update.after);
  // When an answer was lost, the item after the update still tells what was before.
  const last = before?.device_id ?? after?.previous_device_id ?? deviceId;
  const earlier = after ? [after.earlier_device_id] : [before?.previous_device_id, before?.earlier_device_id];
  const id = [last, ...earlier].find((one) => one && one !== deviceId);
  return id ? { id, isEarlier: last === deviceId } : undefined;
}

/**
 * Replaces the predecessor of a device by one write, which may be repeated: it leaves all lists and keeps its former relation.
 * @returns the change by which the device takes over: attributes to set and to remove
 */
export async function replaceDevice(predecessor: string, installationId: string, deviceId: string) {
  const update = await updateItem(deviceItem(predecessor), {
    set: { replaced_by: deviceId, expires_at: epochSeconds() + replacedLifetimeSeconds },
    copy: former,
    remove: ['shard', 'took_over', ...relation],
    when: { installation_id: { is: installationId }, replaced_by: { isNot: deviceId }, ...notExpired() },
  });
  const owner = update.done
    ? (update.before ?? formerOwner(update.after))
    : formerOwner(update.found, deviceId);
  // Whoever knows an installation's id can take its messages.
  annotateIds({ former_device_id: predecessor, login_user_id: owner?.login_user_id });
  const { success, output } = v.safeParse(v.required(personSchema, ['login_user_id']), owner);
  if (!success) return { set: { took_over: predecessor }, remove: [] };
  const set = { took_over: predecessor, ...output, list: devicesOfLoginUserList(output.login_user_id) };
  return { set, remove: relation.filter((name) => !Object.hasOwn(set, name)) };
}

/** The relation of a device before another one replaced it; none if the other one is not `by`. */
function formerOwner(item: Item = {}, by: unknown = item.replaced_by): Item {
  if (item.replaced_by !== by) return {};
  const kept = Object.entries(former).map(([kept, name]) => [name, item[kept] ?? undefined]);
  return Object.fromEntries(kept.filter(([, value]) => value !== undefined));
}

/** Makes an imported device the current one of its installation. False if another one is, until the installation expires. */
export async function claimInstallation(loginAppId: string, installationId: string, deviceId: string) {
  const item = installationItem(loginAppId, installationId);
  const now = epochSeconds();
  const expires_at = now + deviceLifetimeSeconds;
  const claimed = await updateItem(item, {
    set: { device_id: deviceId, expires_at },
    remove: ['previous_device_id', 'earlier_device_id'],
    when: { expires_at: { isNotFrom: now + 1 } },
  });
  return claimed.done || updateOwnItem(item, { set: { expires_at }, when: { device_id: { is: deviceId } } });
}

/** The devices that no other device of the same installation has replaced. */
export async function notReplaced(devices: Device[]): Promise<Device[]> {
  const itemOf = await readEach(devices.flatMap(installationsOf));
  return devices.filter((device) => {
    const [owner = device.device_id] = installationsOf(device).map((key) => itemOf(key)?.device_id);
    return device.replaced_by === undefined && owner === device.device_id;
  });
}

const installationsOf = ({ login_app_id, installation_id: id }: Device): Key[] =>
  id === undefined ? [] : [installationKey(login_app_id, id)];
