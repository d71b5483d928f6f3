import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { hasMobileApplication } from '../login-apps/mobile-applications.ts';
import { readLoginUser } from '../login-users/login-user.ts';
import { type ImportLine, type ImportResult, lineMessage, readLine } from '../schema/import-lines.ts';
import { timeField } from '../schema/rfc3339.ts';
import { putItem } from '../storage/items.ts';
import { devicesOfLoginUserList } from '../storage/keys.ts';
import { activeSince, deviceItem } from './device.ts';
import { claimInstallation } from './installation.ts';
import { type NewDevice, newDevice } from './new-device.ts';
import { attributesOf, noMobileApplication } from './register-device.ts';

const historySchema = v.object({
  created_at: timeField('created_at'),
  last_seen_at: timeField('last_seen_at'),
  login_user_id: v.optional(v.string('login_user_id must be a string.')),
  related_at: timeField('related_at'),
});
const lineSchema = v.intersect([newDevice('', lineMessage), historySchema]);

/** A line that can be imported if the Login App has what it needs. */
interface Draft {
  line: number;
  device: NewDevice;
  history: v.InferOutput<typeof historySchema>;
}

/** References of the lines, each read once: why a line cannot be imported, and since when its person exists. */
interface References {
  problems: Map<string, string>;
  people: Map<string, string>;
}

/**
 * Adds devices that are not there yet, in the order of the lines where two of them are about the same installation. A
 * device that is there stays as it is, whether an earlier import has added it or the app has registered it meanwhile.
 * @throws Error when it has to stop; the devices added so far stay, and the same lines can be sent again
 */
export async function importDevices(loginAppId: string, lines: ImportLine[]): Promise<ImportResult> {
  const result: ImportResult = { added: 0, repeated: 0, refused: [] };
  const drafts = lines.flatMap(({ line, text }) => {
    const read = readLine(text, lineSchema);
    if ('content' in read) return [{ line, ...draftOf(read.content) }];
    result.refused.push({ line, reason: read.reason });
    return [];
  });
  const surroundings = await look(loginAppId, drafts);
  const groups = Map.groupBy(drafts, ({ device }) => device.installation_id ?? device.token);
  await Promise.all(
    [...groups.values()].map(async (group) => {
      for (const draft of group) {
        const outcome = await importDevice(loginAppId, draft, surroundings);
        if (typeof outcome === 'string') result[outcome] += 1;
        else result.refused.push({ line: draft.line, ...outcome });
      }
    }),
  );
  result.refused.sort((a, b) => a.line - b.line);
  return result;
}

function draftOf(content: v.InferOutput<typeof lineSchema>): Omit<Draft, 'line'> {
  const { created_at, last_seen_at, login_user_id, related_at, ...device } = content;
  return { device, history: { created_at, last_seen_at, login_user_id, related_at } };
}

async function look(loginAppId: string, drafts: Draft[]): Promise<References> {
  const surroundings: References = { problems: new Map(), people: new Map() };
  const platforms = [...new Set(drafts.map(({ device }) => device.platform))];
  const ids = [...new Set(drafts.flatMap(({ history }) => history.login_user_id ?? []))];
  await Promise.all([
    ...platforms.map(async (platform) => {
      if (await hasMobileApplication(loginAppId, platform)) return;
      surroundings.problems.set(platform, noMobileApplication(platform));
    }),
    ...ids.map(async (id) => {
      const user = await readLoginUser(id);
      if (user?.login_app_id === loginAppId) surroundings.people.set(id, user.created_at);
      else surroundings.problems.set(id, 'The Login App has no such Login User.');
    }),
  ]);
  return surroundings;
}

async function importDevice(
  loginAppId: string,
  { device, history }: Draft,
  { problems, people }: References,
): Promise<'added' | 'repeated' | { reason: string }> {
  const now = timestamp();
  const { last_seen_at = now, created_at = last_seen_at, login_user_id = '' } = history;
  const reasons = [
    ...[device.platform, login_user_id].flatMap((reference) => problems.get(reference) ?? []),
    ...(last_seen_at > now ? ['last_seen_at must not be in the future.'] : []),
    ...(last_seen_at < activeSince() ? ['The device was not seen for 270 days.'] : []),
  ];
  if (reasons.length > 0) return { reason: reasons.join(' ') };
  const attributes = attributesOf(loginAppId, device, last_seen_at);
  const { device_id } = attributes;
  const { installation_id } = device;
  if (installation_id !== undefined && !(await claimInstallation(loginAppId, installation_id, device_id)))
    return { reason: 'The installation has another device.' };
  const login_user_since = people.get(login_user_id);
  const relation = login_user_since !== undefined && {
    login_user_id,
    login_user_since,
    related_at: history.related_at ?? last_seen_at,
    list: devicesOfLoginUserList(login_user_id),
  };
  const item = { ...attributes, created_at, ...relation };
  return (await putItem(deviceItem(device_id), item, { ifAbsent: true })) ? 'added' : 'repeated';
}
