import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { hasMobileApplication } from '../login-apps/mobile-applications.ts';
import { readLoginUser } from '../login-users/login-user.ts';
import { type ImportLine, type ImportResult, readLines } from '../schema/import-lines.ts';
import { timeField } from '../schema/json-schema.ts';
import { putItem } from '../storage/items.ts';
import { devicesOfLoginUserList } from '../storage/keys.ts';
import { activeSince, deviceItem } from './device.ts';
import { claimInstallation } from './installation.ts';
import { newDeviceSchema } from './new-device.ts';
import { attributesOf, noMobileApplication } from './register-device.ts';

/** A device with its history. */
const lineSchema = v.intersect([
  newDeviceSchema,
  v.object({
    created_at: timeField('created_at'),
    last_seen_at: timeField('last_seen_at'),
    login_user_id: v.optional(v.string('login_user_id must be a string.')),
    related_at: timeField('related_at'),
  }),
]);
type ImportedDevice = v.InferOutput<typeof lineSchema>;

/**
 * Adds devices that are not there yet, in the order of the lines where two of them are about the same installation. A
 * device that is there stays as it is, whether an earlier import has added it or the app has registered it meanwhile.
 * @throws Error when it has to stop; the devices added so far stay, and the same lines can be sent again
 */
export async function importDevices(loginAppId: string, lines: ImportLine[]): Promise<ImportResult> {
  const { read, result } = readLines(lines, lineSchema);
  const contents = read.map(({ content }) => content);
  const references = await readReferences(loginAppId, contents);
  const groups = Map.groupBy(read, ({ content }) => content.installation_id ?? content.token);
  await Promise.all(
    [...groups.values()].map(async (group) => {
      for (const { line, content } of group) {
        const outcome = await importDevice(loginAppId, content, references);
        if (typeof outcome === 'string') result[outcome] += 1;
        else result.refused.push({ line, ...outcome });
      }
    }),
  );
  result.refused.sort((a, b) => a.line - b.line);
  return result;
}

/** Reads what the lines refer to, each once: why it is no reference, and since when a person exists. */
async function readReferences(loginAppId: string, devices: ImportedDevice[]) {
  const references = { problems: new Map<string, string>(), people: new Map<string, string>() };
  const platforms = [...new Set(devices.map(({ platform }) => platform))];
  const ids = [...new Set(devices.flatMap(({ login_user_id }) => login_user_id ?? []))];
  await Promise.all([
    ...platforms.map(async (platform) => {
      if (await hasMobileApplication(loginAppId, platform)) return;
      references.problems.set(platform, noMobileApplication(platform));
    }),
    ...ids.map(async (id) => {
      const user = await readLoginUser(id);
      if (user?.login_app_id === loginAppId) references.people.set(id, user.created_at);
      else references.problems.set(id, 'The Login App has no such Login User.');
    }),
  ]);
  return references;
}

async function importDevice(
  loginAppId: string,
  { created_at, last_seen_at, login_user_id = '', related_at, ...device }: ImportedDevice,
  { problems, people }: Awaited<ReturnType<typeof readReferences>>,
): Promise<'added' | 'repeated' | { reason: string }> {
  const now = timestamp();
  const lastSeenAt = last_seen_at ?? now;
  const reasons = [
    ...[device.platform, login_user_id].flatMap((reference) => problems.get(reference) ?? []),
    ...(lastSeenAt > now ? ['last_seen_at must not be in the future.'] : []),
    ...(lastSeenAt < activeSince() ? ['The device was not seen for 270 days.'] : []),
  ];
  if (reasons.length > 0) return { reason: reasons.join(' ') };
  const attributes = attributesOf(loginAppId, device, lastSeenAt);
  const { device_id } = attributes;
  const { installation_id } = device;
  if (installation_id !== undefined && !(await claimInstallation(loginAppId, installation_id, device_id)))
    return { reason: 'The installation has another device.' };
  const login_user_since = people.get(login_user_id);
  const relation = login_user_since !== undefined && {
    login_user_id,
    login_user_since,
    related_at: related_at ?? lastSeenAt,
    list: devicesOfLoginUserList(login_user_id),
  };
  const item = { ...attributes, created_at: created_at ?? lastSeenAt, ...relation };
  return (await putItem(deviceItem(device_id), item, { ifAbsent: true })) ? 'added' : 'repeated';
}
