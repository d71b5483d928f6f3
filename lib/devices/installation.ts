import * as v from 'valibot';
import { epochSeconds } from '../foundation/clock.ts';
import { logEvent } from '../log/log.ts';
import { annotateIds } from '../log/request-fields.ts';
import type { Change } from '../storage/expressions.ts';
import { type ItemOf, itemKind, readItems, updateItem } from '../storage/items.ts';
import { devicesOfLoginUserList, installationKey } from '../storage/keys.ts';
import { type TransactionWrite, update, writeTogether } from '../storage/transactions.ts';
import {
  type Device,
  deviceItem,
  deviceLifetimeSeconds,
  hasExpired,
  notExpired,
  personSchema,
  readDevice,
  relation,
  sameRelation,
} from './device.ts';

export const installationItem = itemKind(
  v.object({
    /** The current device; of a shared installation, one of them. */
    device_id: v.string(),
    /** The devices that it had before, the latest last. */
    former_device_ids: v.exactOptional(v.array(v.string())),
    /** Whether two phones have its id. Then no registration replaces a device of it any more. */
    shared: v.exactOptional(v.boolean()),
    /** Epoch seconds of its end, which comes after that of its devices. */
    expires_at: v.number(),
    /** 1.0.0 kept the device of the registration before here, since it might not be replaced yet. */
    previous_device_id: v.exactOptional(v.nullable(v.string())),
  }),
  installationKey,
);
type Installation = ItemOf<typeof installationItem>;

/** Attributes that only 1.0.0 wrote. */
const obsoleteAttributes = ['previous_device_id', 'earlier_device_id'];

/** How many former devices an installation remembers. */
const mostFormer = 10;

/** Seconds from the replacement of a device to its end: 30 days. */
const replacedLifetimeSeconds = 30 * 86_400;

/** Seconds for which an installation outlives its device, and after which it is written again. */
const spareSeconds = 30 * 86_400;

/** Epoch seconds of the end of an installation that is written now. */
export const endOfInstallation = (): number => epochSeconds() + deviceLifetimeSeconds + spareSeconds;

type DeviceAttributes = NonNullable<Change<Device>['set']>;

/** The change that a registration makes to its device. */
export interface DeviceChange {
  set: DeviceAttributes & Pick<Device, 'platform' | 'last_seen_at'>;
  remove: string[];
}

/** A registration with an installation id, and what the table had when it began. */
interface Registration {
  loginAppId: string;
  installationId: string;
  deviceId: string;
  change: DeviceChange;
  installation: Installation | undefined;
  /** The device, even if it has expired. */
  stored: Device | undefined;
  /** The device, unless it has expired. */
  device: Device | undefined;
}

/**
 * Registers a device of an installation. That is one write if only the device changes. Otherwise one
 * transaction writes the installation, the device that it had and the new one, so that a crash leaves
 * nothing half done.
 * @returns whether the device is new; undefined if somebody else changed something meanwhile
 */
export async function registerInInstallation(
  loginAppId: string,
  installationId: string,
  deviceId: string,
  change: DeviceChange,
): Promise<boolean | undefined> {
  const [installation, stored] = await readItems([
    installationItem(loginAppId, installationId),
    deviceItem(deviceId),
  ]);
  const device = stored && !hasExpired(stored) ? stored : undefined;
  const registration = { loginAppId, installationId, deviceId, change, installation, stored, device };
  if (!isUnchanged(registration)) return changeInstallation(registration);
  const updated = await updateItem(deviceItem(deviceId), {
    ...withMore(change, sharedMark(installation?.shared === true)),
    when: { replaced_by: { exists: false }, ...notExpired() },
  });
  return updated.done ? false : undefined;
}

/** Whether a registration leaves the installation as it is. Those of 1.0.0 are due to be written. */
function isUnchanged({ installation, deviceId, device }: Registration): boolean {
  if (!installation || !device || device.replaced_by !== undefined) return false;
  const isDue = installation.expires_at < epochSeconds() + deviceLifetimeSeconds;
  if (isDue) return false;
  return installation.shared === true || installation.device_id === deviceId;
}

/** Writes the installation with its devices. The result is that of `registerInInstallation`. */
async function changeInstallation(registration: Registration): Promise<boolean | undefined> {
  const { loginAppId, installationId, deviceId, change, installation, stored, device } = registration;
  const wasShared = installation?.shared === true;
  const isShared = wasShared || hasComeBack(registration);
  const current = wasShared ? undefined : await readCurrent(registration);
  const { write, gained } = isShared ? endMovedRelation(current, deviceId) : replace(current, registration);

  const now = change.set.last_seen_at;
  const created = device ? {} : { created_at: now };
  // An expired device hands nobody on to the new one with the same token.
  const removed = gained || !device ? relation : [];
  const more = { ...created, ...gained, ...sharedMark(isShared) };

  const outcome = await writeTogether([
    update(installationItem(loginAppId, installationId), {
      set: {
        ...(isShared ? { shared: true } : withDevice(installation, deviceId)),
        expires_at: endOfInstallation(),
      },
      remove: obsoleteAttributes,
      when: sameInstallation(installation),
    }),
    ...(write ? [write] : []),
    update(deviceItem(deviceId), {
      ...withMore(change, more, removed),
      when: { expires_at: { is: stored?.expires_at } },
    }),
  ]);
  if (!outcome.done) return undefined;

  const hasReplaced = write !== undefined;
  if (hasReplaced) noteInAuditLine(current, device, gained);
  if (isShared && !wasShared) logEvent('installation_shared', { platform: change.set.platform });
  return device === undefined;
}

/**
 * Whether a push token registers again after another one has replaced it. The phone that replaced it was
 * not the same one, then: it has the id from a backup of this one.
 */
function hasComeBack({ installation, installationId, deviceId, device }: Registration): boolean {
  if (!installation) return false;
  const isFormer = installation.former_device_ids?.includes(deviceId) === true;
  // Installations of 1.0.0 remember no former devices.
  const wasReplaced = device?.replaced_by !== undefined && device.installation_id === installationId;
  return isFormer || wasReplaced;
}

/** The device whose place the registered one takes. 1.0.0 may have crashed before it was replaced. */
async function readCurrent({ installation, deviceId }: Registration): Promise<Device | undefined> {
  const { device_id, previous_device_id } = installation ?? {};
  const currentId = device_id === deviceId ? previous_device_id : device_id;
  return currentId && currentId !== deviceId ? readDevice(currentId) : undefined;
}

/** The write by which a registration changes the current device, and the relation that the new device gets. */
interface Replacement {
  write?: TransactionWrite;
  gained?: DeviceAttributes | undefined;
}

/** Replaces the current device, which leaves all lists. Its person goes along: it is the same phone. */
function replace(
  current: Device | undefined,
  { installationId, deviceId }: Pick<Registration, 'installationId' | 'deviceId'>,
): Replacement {
  if (!current || current.installation_id !== installationId || current.replaced_by !== undefined) return {};
  const write = update(deviceItem(current.device_id), {
    set: { replaced_by: deviceId, expires_at: epochSeconds() + replacedLifetimeSeconds },
    remove: ['shard', ...relation],
    when: {
      installation_id: { is: installationId },
      replaced_by: { exists: false },
      ...sameRelation(current),
    },
  });
  const moved_from = current.moved_from ?? current.device_id;
  const gained = relationOf(current);
  return { write, gained: gained && { ...gained, moved_from } };
}

/**
 * Ends the relation of the current device if nobody made it there: it has moved from another phone. The
 * device that comes back gets it again if the person related that one. In doubt, nobody gets it.
 */
function endMovedRelation(current: Device | undefined, deviceId: string): Replacement {
  if (!current) return {};
  const { moved_from, took_over } = current;
  if (moved_from === undefined && took_over === undefined) return {};
  const write = update(deviceItem(current.device_id), { remove: relation, when: sameRelation(current) });
  const isReturned = moved_from === deviceId && took_over === undefined;
  return { write, gained: isReturned ? relationOf(current) : undefined };
}

/** The relation of a device, for another one; undefined if it is nobody's. */
function relationOf(device: Device): DeviceAttributes | undefined {
  const { login_user_id } = device;
  if (login_user_id === undefined) return undefined;
  return { ...v.parse(personSchema, device), list: devicesOfLoginUserList(login_user_id) };
}

/** The current device of an installation, and those that it had before. */
function withDevice(installation: Installation | undefined, deviceId: string) {
  const { device_id, previous_device_id, former_device_ids = [] } = installation ?? {};
  const before = [...former_device_ids, previous_device_id, device_id];
  const former = new Set(before.filter((id) => typeof id === 'string'));
  former.delete(deviceId);
  return { device_id: deviceId, former_device_ids: [...former].slice(-mostFormer) };
}

/** The conditions that an installation has the device with which it was read, and is still not shared. */
export const sameInstallation = (installation: Installation | undefined) =>
  installation
    ? { device_id: { is: installation.device_id }, shared: { exists: installation.shared === true } }
    : { pk: { exists: false } };

const sharedMark = (isShared: boolean) => (isShared ? { installation_shared: true } : {});

/** Adds attributes to a change. @param removed attributes that go unless they are set */
function withMore(change: DeviceChange, more: DeviceAttributes, removed: string[] = []): DeviceChange {
  const set = { ...change.set, ...more };
  const remove = new Set([...change.remove, ...removed]);
  return { set, remove: [...remove].filter((name) => !Object.hasOwn(set, name)) };
}

/** Notes whose messages go elsewhere now: whoever knows an installation's id can bring that about. */
function noteInAuditLine(
  current: Device | undefined,
  device: Device | undefined,
  gained: DeviceAttributes | undefined,
): void {
  annotateIds({ former_device_id: current?.device_id, login_user_id: gained?.login_user_id });
  const former_login_user_id = device?.login_user_id;
  if (gained && gained.login_user_id !== former_login_user_id) annotateIds({ former_login_user_id });
}
