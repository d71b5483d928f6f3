import * as v from 'valibot';
import { epochSeconds, timestamp } from '../foundation/clock.ts';
import { hasMobileApplication } from '../login-apps/mobile-applications.ts';
import { type LoginUser, readLoginUser } from '../login-users/login-user.ts';
import {
  type ImportLine,
  type ImportResult,
  type LineOutcome,
  readLines,
} from '../schema/import-lines.ts';
import { timeField } from '../schema/json-schema.ts';
import { retryOnConflict } from '../storage/batches.ts';
import type { Stored } from '../storage/expressions.ts';
import { putItem, readItem, readItems } from '../storage/items.ts';
import { devicesOfLoginUserList } from '../storage/keys.ts';
import { put, writeTogether } from '../storage/transactions.ts';
import { activeSince, type Device, deviceItem, hasExpired } from './device.ts';
import {
  endOfInstallation,
  type Installation,
  installationItem,
  sameInstallation,
} from './installation.ts';
import { newDeviceSchema } from './new-device.ts';
import { noMobileApplication, registeredAttributes } from './register-device.ts';

const lineSchema = v.intersect([
  newDeviceSchema,
  v.object({
    created_at: v.fallback(timeField('created_at'), undefined),
    // It decides whether the device gets messages.
    last_seen_at: timeField('last_seen_at'),
    login_user_id: v.optional(v.string('login_user_id must be a string.')),
    related_at: v.fallback(timeField('related_at'), undefined),
    installation_shared: v.optional(v.boolean('installation_shared must be true or false.')),
  }),
]);
type ImportedDevice = v.InferOutput<typeof lineSchema>;

interface Options {
  /** Whether to write nothing, and compare each line with what is stored. */
  dryRun: boolean;
}

/**
 * Adds devices that do not exist yet, those of one installation in the order of their lines. A
 * device that exists stays as it is, whether by an earlier import or a registration.
 * @throws Error when it has to stop; the devices added so far stay, and the same lines can be sent
 *   again
 */
export async function importDevices(
  loginAppId: string,
  lines: ImportLine[],
  options: Options,
): Promise<ImportResult> {
  const { read, result, note } = readLines(lines, lineSchema);
  const groups = Map.groupBy(read, ({ content }) => content.installation_id ?? content.token);
  const importGroup = async (group: typeof read) => {
    for (const { line, content } of group) {
      const outcome = await importDevice(loginAppId, content, options);
      note(line, outcome);
    }
  };
  await Promise.all([...groups.values()].map(importGroup));
  return result;
}

async function importDevice(
  loginAppId: string,
  device: ImportedDevice,
  { dryRun }: Options,
): Promise<LineOutcome> {
  const { platform, login_user_id, installation_id } = device;
  const now = timestamp();
  const lastSeenAt = device.last_seen_at ?? now;
  const [hasApplication, user] = await Promise.all([
    hasMobileApplication(loginAppId, platform),
    login_user_id === undefined ? undefined : readLoginUser(login_user_id),
  ]);

  const reasons: string[] = [];
  if (!hasApplication) reasons.push(noMobileApplication(platform));
  const isStranger = login_user_id !== undefined && user?.login_app_id !== loginAppId;
  if (isStranger) reasons.push('The Login App has no such Login User.');
  if (lastSeenAt > now) reasons.push('last_seen_at must not be in the future.');
  if (lastSeenAt < activeSince()) reasons.push('The device was not seen for 270 days.');
  if (reasons.length > 0) return { reason: reasons.join(' ') };

  const item = itemOf(loginAppId, device, lastSeenAt, user);
  const installation =
    installation_id === undefined ? undefined : installationItem(loginAppId, installation_id);
  if (dryRun) return foresee(item, installation);
  const addOnce = () => (installation ? addToInstallation(installation, item) : addAlone(item));
  return retryOnConflict(addOnce, `Others keep registering the device ${item.device_id}.`);
}

/**
 * The item of an imported device.
 * @param user the person that it is linked to, if there is one
 */
function itemOf(
  loginAppId: string,
  device: ImportedDevice,
  lastSeenAt: string,
  user: LoginUser | undefined,
): NewDeviceItem {
  const item = {
    ...registeredAttributes(loginAppId, device, lastSeenAt),
    created_at: device.created_at ?? lastSeenAt,
  };
  const shared = device.installation_shared ? { installation_shared: true } : {};
  if (!user) return { ...item, ...shared };
  const link = {
    login_user_id: user.login_user_id,
    login_user_since: user.created_at,
    related_at: device.related_at ?? lastSeenAt,
    // An import counts like a recent login.
    confirmed_login_user_id: user.login_user_id,
    list: devicesOfLoginUserList(user.login_user_id),
  };
  return { ...item, ...shared, ...link };
}

type NewDeviceItem = Stored<Device>;
type InstallationKey = ReturnType<typeof installationItem>;

/** The outcome that an import of a device would have. */
async function foresee(
  item: NewDeviceItem,
  key: InstallationKey | undefined,
): Promise<LineOutcome> {
  const [stored, installation] = await Promise.all([
    readItem(deviceItem(item.device_id)),
    key && readItem(key),
  ]);
  if (isOfAnother(installation, item)) return { reason: ofAnother };
  const isThere = stored !== undefined && !hasExpired(stored);
  return isThere ? 'repeated' : 'added';
}

const ofAnother = 'The installation has another device.';

/**
 * Whether an installation that has not expired has another device, and neither a line nor a phone
 * has shown that it is shared.
 */
function isOfAnother(installation: Installation | undefined, item: NewDeviceItem): boolean {
  if (!installation || isOver(installation) || isShared(installation, item)) return false;
  return installation.device_id !== item.device_id;
}

const isOver = ({ expires_at }: Installation): boolean => expires_at <= epochSeconds();

const isShared = (installation: Installation | undefined, item: NewDeviceItem): boolean =>
  installation?.shared === true || item.installation_shared === true;

/**
 * Adds a device without an installation.
 * @returns undefined if the app registered it meanwhile
 */
async function addAlone(item: NewDeviceItem): Promise<LineOutcome | undefined> {
  const key = deviceItem(item.device_id);
  const isAdded = await putItem(key, item, { ifAbsent: true });
  if (isAdded) return 'added';
  const stored = await readItem(key);
  if (stored && !hasExpired(stored)) return 'repeated';
  // An expired device that the table still has is replaced.
  const replacement = put(key, item, { expires_at: { is: stored?.expires_at } });
  const outcome = await writeTogether([replacement]);
  return outcome.done ? 'added' : undefined;
}

/**
 * Adds a device together with its installation, whose current device it becomes. A device that is
 * there already has its installation prolonged.
 * @returns undefined if the app registered something meanwhile
 */
async function addToInstallation(
  key: InstallationKey,
  item: NewDeviceItem,
): Promise<LineOutcome | undefined> {
  const { device_id } = item;
  const [installation, stored] = await readItems([key, deviceItem(device_id)]);
  if (isOfAnother(installation, item)) return { reason: ofAnother };
  const goesOn = installation !== undefined && !isOver(installation);
  const content: Stored<Installation> = {
    ...installation,
    device_id: goesOn ? installation.device_id : device_id,
    expires_at: endOfInstallation(),
  };
  if (isShared(installation, item)) content.shared = true;
  const installationWrite = put(key, content, sameInstallation(installation));
  const isThere = stored !== undefined && !hasExpired(stored);
  const deviceWrite = put(deviceItem(device_id), item, { expires_at: { is: stored?.expires_at } });
  const writes = isThere ? [installationWrite] : [installationWrite, deviceWrite];
  const outcome = await writeTogether(writes);
  if (!outcome.done) return undefined;
  return isThere ? 'repeated' : 'added';
}
