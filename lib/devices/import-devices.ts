import * as v from 'valibot';
import { epochSeconds, timestamp } from '../foundation/clock.ts';
import { hasMobileApplication } from '../login-apps/mobile-applications.ts';
import { readLoginUser } from '../login-users/login-user.ts';
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
import { attributesOf, noMobileApplication } from './register-device.ts';

const lineSchema = v.intersect([
  newDeviceSchema,
  v.object({
    created_at: timeField('created_at'),
    last_seen_at: timeField('last_seen_at'),
    login_user_id: v.optional(v.string('login_user_id must be a string.')),
    related_at: timeField('related_at'),
    installation_shared: v.optional(v.boolean('installation_shared must be true or false.')),
  }),
]);

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
  await Promise.all(
    [...groups.values()].map(async (group) => {
      for (const { line, content } of group)
        note(line, await importDevice(loginAppId, content, options));
    }),
  );
  return result;
}

async function importDevice(
  loginAppId: string,
  {
    created_at,
    last_seen_at,
    login_user_id,
    related_at,
    installation_shared,
    ...device
  }: v.InferOutput<typeof lineSchema>,
  { dryRun }: Options,
): Promise<LineOutcome> {
  const now = timestamp();
  const lastSeenAt = last_seen_at ?? now;
  const [hasApplication, user] = await Promise.all([
    hasMobileApplication(loginAppId, device.platform),
    login_user_id === undefined ? undefined : readLoginUser(login_user_id),
  ]);
  const isStranger = login_user_id !== undefined && user?.login_app_id !== loginAppId;
  const reasons = [
    ...(hasApplication ? [] : [noMobileApplication(device.platform)]),
    ...(isStranger ? ['The Login App has no such Login User.'] : []),
    ...(lastSeenAt > now ? ['last_seen_at must not be in the future.'] : []),
    ...(lastSeenAt < activeSince() ? ['The device was not seen for 270 days.'] : []),
  ];
  if (reasons.length > 0) return { reason: reasons.join(' ') };
  const attributes = attributesOf(loginAppId, device, lastSeenAt);
  const { device_id } = attributes;
  const relation = user && {
    login_user_id: user.login_user_id,
    login_user_since: user.created_at,
    related_at: related_at ?? lastSeenAt,
    confirmed_login_user_id: user.login_user_id,
    list: devicesOfLoginUserList(user.login_user_id),
  };
  const shared = installation_shared ? { installation_shared } : {};
  const item = { ...attributes, ...shared, created_at: created_at ?? lastSeenAt, ...relation };
  const { installation_id } = device;
  const installation =
    installation_id === undefined ? undefined : installationItem(loginAppId, installation_id);
  if (dryRun) return foresee(item, installation);
  const addOnce = () => (installation ? addToInstallation(installation, item) : addAlone(item));
  return retryOnConflict(addOnce, `Others keep registering the device ${device_id}.`);
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
  return stored && !hasExpired(stored) ? 'repeated' : 'added';
}

const ofAnother = 'The installation has another device.';

/**
 * Whether an installation that goes on has another device, and no line or phone has shown that it
 * is shared.
 */
function isOfAnother(installation: Installation | undefined, item: NewDeviceItem): boolean {
  const isOver = installation === undefined || installation.expires_at <= epochSeconds();
  const isShared = installation?.shared === true || item.installation_shared === true;
  return !isOver && !isShared && installation.device_id !== item.device_id;
}

/**
 * Adds a device without an installation.
 * @returns undefined if the app registered it meanwhile
 */
async function addAlone(item: NewDeviceItem): Promise<LineOutcome | undefined> {
  const key = deviceItem(item.device_id);
  if (await putItem(key, item, { ifAbsent: true })) return 'added';
  const stored = await readItem(key);
  if (stored && !hasExpired(stored)) return 'repeated';
  const outcome = await writeTogether([put(key, item, { expires_at: { is: stored?.expires_at } })]);
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
  const isOver = installation === undefined || installation.expires_at <= epochSeconds();
  const isShared = installation?.shared === true || item.installation_shared === true;
  const content = {
    ...installation,
    device_id: isOver ? device_id : installation.device_id,
    expires_at: endOfInstallation(),
    ...(isShared && { shared: true }),
  };
  const claim = put(key, content, sameInstallation(installation));
  const isThere = stored !== undefined && !hasExpired(stored);
  const add = put(deviceItem(device_id), item, { expires_at: { is: stored?.expires_at } });
  const outcome = await writeTogether(isThere ? [claim] : [claim, add]);
  if (!outcome.done) return undefined;
  return isThere ? 'repeated' : 'added';
}
