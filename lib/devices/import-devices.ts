import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { hasMobileApplication } from '../login-apps/mobile-applications.ts';
import { readLoginUser } from '../login-users/login-user.ts';
import { type ImportLine, type ImportResult, type LineOutcome, readLines } from '../schema/import-lines.ts';
import { timeField } from '../schema/json-schema.ts';
import { deleteItem, putItem, readItem } from '../storage/items.ts';
import { devicesOfLoginUserList } from '../storage/keys.ts';
import { activeSince, deviceItem, hasExpired } from './device.ts';
import { claimInstallation } from './installation.ts';
import { newDeviceSchema } from './new-device.ts';
import { attributesOf, noMobileApplication } from './register-device.ts';

const lineSchema = v.intersect([
  newDeviceSchema,
  v.object({
    created_at: timeField('created_at'),
    last_seen_at: timeField('last_seen_at'),
    login_user_id: v.optional(v.string('login_user_id must be a string.')),
    related_at: timeField('related_at'),
  }),
]);

/**
 * Adds devices that do not exist yet, those of one installation in the order of their lines. A device that exists stays as
 * it is, whether by an earlier import or a registration.
 * @throws Error when it has to stop; the devices added so far stay, and the same lines can be sent again
 */
export async function importDevices(loginAppId: string, lines: ImportLine[]): Promise<ImportResult> {
  const { read, result, note } = readLines(lines, lineSchema);
  const groups = Map.groupBy(read, ({ content }) => content.installation_id ?? content.token);
  await Promise.all(
    [...groups.values()].map(async (group) => {
      for (const { line, content } of group) note(line, await importDevice(loginAppId, content));
    }),
  );
  return result;
}

async function importDevice(
  loginAppId: string,
  { created_at, last_seen_at, login_user_id, related_at, ...device }: v.InferOutput<typeof lineSchema>,
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
  const { installation_id } = device;
  if (installation_id !== undefined && !(await claimInstallation(loginAppId, installation_id, device_id)))
    return { reason: 'The installation has another device.' };
  const relation = user && {
    login_user_id: user.login_user_id,
    login_user_since: user.created_at,
    related_at: related_at ?? lastSeenAt,
    list: devicesOfLoginUserList(user.login_user_id),
  };
  const item = { ...attributes, created_at: created_at ?? lastSeenAt, ...relation };
  const key = deviceItem(device_id);
  const add = () => putItem(key, item, { ifAbsent: true });
  if (await add()) return 'added';
  const found = await readItem(key);
  if (found && !hasExpired(found)) return 'repeated';
  // Unless the app has registered it since, which sets another time.
  if (found) await deleteItem(key, { expires_at: { is: found.expires_at } });
  return (await add()) ? 'added' : 'repeated';
}
