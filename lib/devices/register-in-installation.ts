import * as v from 'valibot';
import { epochSeconds } from '../foundation/clock.ts';
import { logEvent } from '../log/log.ts';
import { annotateIds } from '../log/request-fields.ts';
import type { Change } from '../storage/expressions.ts';
import { readItems, updateItem } from '../storage/items.ts';
import { devicesOfLoginUserList } from '../storage/keys.ts';
import { type TransactionWrite, update, writeTogether } from '../storage/transactions.ts';
import {
  type Device,
  deviceItem,
  hasExpired,
  notExpired,
  personSchema,
  readDevice,
  relation,
  sameRelation,
} from './device.ts';
import {
  endOfInstallation,
  type Installation,
  installationItem,
  isDue,
  obsoleteAttributes,
  sameInstallation,
  withDevice,
} from './installation.ts';

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

/** The effect of a registration on the device that the installation has so far. */
interface Effect {
  predecessor?: Device;
  predecessorWrite?: TransactionWrite;
  /** The link to a person that the registered device gets from the predecessor. */
  movedRelation?: DeviceAttributes | undefined;
}

/** Seconds from the replacement of a device to its end: 30 days. */
const replacedLifetimeSeconds = 30 * 86_400;

/**
 * Registers a device of an installation. That is one write if only the device changes. Otherwise
 * one transaction writes the installation, the device that it had and the new one, so that a crash
 * leaves nothing half done.
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
  const isThere = stored !== undefined && !hasExpired(stored);
  const device = isThere ? stored : undefined;
  const registration = {
    loginAppId,
    installationId,
    deviceId,
    change,
    installation,
    stored,
    device,
  };

  if (isUnchanged(registration)) return writeDevice(registration);

  if (installation?.shared === true) return writeAll(registration, true, {});

  const predecessor = await readPredecessor(registration);
  if (!hasComeBack(registration)) {
    const replacement = replacePredecessor(registration, predecessor);
    return writeAll(registration, false, replacement);
  }

  const separation = endMovedRelation(registration, predecessor);
  const isNew = await writeAll(registration, true, separation);
  if (isNew !== undefined) logEvent('installation_shared', { platform: change.set.platform });
  return isNew;
}

/** Whether a registration leaves the installation as it is. */
function isUnchanged({ installation, deviceId, device }: Registration): boolean {
  if (!installation || isDue(installation)) return false;
  if (!device || device.replaced_by !== undefined) return false;
  return installation.shared === true || installation.device_id === deviceId;
}

/**
 * Whether a push token registers again after another one has replaced it. Then the other one is
 * that of a second phone, which has the installation's id from a backup.
 */
function hasComeBack({ installation, installationId, deviceId, device }: Registration): boolean {
  if (!installation) return false;
  const isRemembered = installation.replaced_device_ids?.includes(deviceId) === true;
  // Installations of 1.0.0 remember no replaced devices.
  const wasReplaced =
    device?.replaced_by !== undefined && device.installation_id === installationId;
  return isRemembered || wasReplaced;
}

/**
 * The device that the installation has so far. If that is the registered one, it may be the device
 * before, which 1.0.0 did not always replace.
 */
async function readPredecessor({
  installation,
  deviceId,
}: Registration): Promise<Device | undefined> {
  const { device_id, previous_device_id } = installation ?? {};
  const id = device_id === deviceId ? previous_device_id : device_id;
  if (typeof id !== 'string' || id === deviceId) return undefined;
  return readDevice(id);
}

/**
 * Replaces the predecessor, which leaves all lists. Its link to a person moves to the registered
 * device, since both are the same phone.
 */
function replacePredecessor(
  { installationId, deviceId }: Registration,
  predecessor: Device | undefined,
): Effect {
  if (predecessor?.installation_id !== installationId) return {};
  if (predecessor.replaced_by !== undefined) return {};
  const predecessorWrite = update(deviceItem(predecessor.device_id), {
    set: {
      replaced_by: deviceId,
      expires_at: epochSeconds() + replacedLifetimeSeconds,
    },
    remove: ['shard', ...relation],
    when: {
      installation_id: { is: installationId },
      replaced_by: { exists: false },
      ...sameRelation(predecessor),
    },
  });
  const found = relationOf(predecessor);
  if (!found) return { predecessor, predecessorWrite };
  const moved_from = predecessor.moved_from ?? predecessor.device_id;
  return { predecessor, predecessorWrite, movedRelation: { ...found, moved_from } };
}

/**
 * Unlinks the predecessor if its link has moved there from another phone. The device that comes
 * back gets the link again if it is the one that the person linked. In doubt, no device gets it.
 */
function endMovedRelation({ deviceId }: Registration, predecessor: Device | undefined): Effect {
  if (!predecessor) return {};
  const { moved_from, took_over } = predecessor;
  // A device of 1.0.0 does not say whether its link has moved.
  const isUnclear = took_over !== undefined;
  if (moved_from === undefined && !isUnclear) return {};
  const predecessorWrite = update(deviceItem(predecessor.device_id), {
    remove: relation,
    when: sameRelation(predecessor),
  });
  const isReturned = moved_from === deviceId && !isUnclear;
  if (!isReturned) return { predecessor, predecessorWrite };
  return { predecessor, predecessorWrite, movedRelation: relationOf(predecessor) };
}

/** The attributes that link a device to its person, for another device; undefined without one. */
function relationOf(device: Device): DeviceAttributes | undefined {
  const { login_user_id } = device;
  if (login_user_id === undefined) return undefined;
  return { ...v.parse(personSchema, device), list: devicesOfLoginUserList(login_user_id) };
}

/** Writes a known device alone. The result is that of `registerInInstallation`. */
async function writeDevice({
  deviceId,
  change,
  installation,
}: Registration): Promise<false | undefined> {
  const isShared = installation?.shared === true;
  const updated = await updateItem(deviceItem(deviceId), {
    ...withMore(change, sharedAttribute(isShared)),
    when: { replaced_by: { exists: false }, ...notExpired() },
  });
  return updated.done ? false : undefined;
}

/**
 * Writes the installation with its devices, all or none. The result is that of
 * `registerInInstallation`.
 */
async function writeAll(
  registration: Registration,
  isShared: boolean,
  effect: Effect,
): Promise<boolean | undefined> {
  const { loginAppId, installationId, deviceId } = registration;
  const { change, installation, stored, device } = registration;
  const { predecessorWrite, movedRelation } = effect;
  const isNew = device === undefined;

  const set = isShared ? { shared: true } : withDevice(installation, deviceId);
  const installationWrite = update(installationItem(loginAppId, installationId), {
    set: { ...set, expires_at: endOfInstallation() },
    remove: obsoleteAttributes,
    when: sameInstallation(installation),
  });

  const created = isNew ? { created_at: change.set.last_seen_at } : {};
  const more = { ...created, ...movedRelation, ...sharedAttribute(isShared) };
  // An expired device with the same token does not pass its link to a person on to the new one.
  const isUnlinked = isNew || movedRelation !== undefined;
  const deviceWrite = update(deviceItem(deviceId), {
    ...withMore(change, more, isUnlinked ? relation : []),
    when: { expires_at: { is: stored?.expires_at } },
  });

  const predecessorWrites = predecessorWrite ? [predecessorWrite] : [];
  const outcome = await writeTogether([installationWrite, ...predecessorWrites, deviceWrite]);
  if (!outcome.done) return undefined;
  noteInAuditLine(device, effect);
  return isNew;
}

/**
 * Notes in the audit line whose messages go to another device now: whoever knows the id of an
 * installation can bring that about.
 * @param device the registered device before, if there was one
 */
function noteInAuditLine(device: Device | undefined, { predecessor, movedRelation }: Effect): void {
  const login_user_id = movedRelation?.login_user_id;
  annotateIds({ former_device_id: predecessor?.device_id, login_user_id });
  const former_login_user_id = device?.login_user_id;
  const hasNewPerson = movedRelation !== undefined && login_user_id !== former_login_user_id;
  if (hasNewPerson) annotateIds({ former_login_user_id });
}

const sharedAttribute = (isShared: boolean) => (isShared ? { installation_shared: true } : {});

/**
 * Adds attributes to a change.
 * @param removed attributes that go unless they are set
 */
function withMore(
  change: DeviceChange,
  more: DeviceAttributes,
  removed: string[] = [],
): DeviceChange {
  const set = { ...change.set, ...more };
  const remove = new Set([...change.remove, ...removed]);
  return { set, remove: [...remove].filter((name) => !Object.hasOwn(set, name)) };
}
