import * as v from 'valibot';
import { timestamp } from '../clock.ts';
import { type Item, updateItem } from '../storage/items.ts';
import { deviceKey, devicesOfLoginAppShard } from '../storage/keys.ts';
import { readGlobalList } from '../storage/lists.ts';
import { activeSince, type Device, device, isActive } from './device.ts';
import { mostDevices, readCurrentDevices } from './related-devices.ts';
import { endLeftoverRelations } from './relation.ts';

export { shards } from './shards.ts';

/** What a worker that sends messages needs to know of a device, and whose it is. */
export type Recipient = Pick<Device, 'device_id' | 'platform' | 'token' | 'last_seen_at' | 'login_user_id'>;

/** The devices that messages to a Login User go to. Strongly consistent as to whose they are. */
export async function recipientsOfLoginUser(loginUserId: string): Promise<Recipient[]> {
  const related = await readCurrentDevices(loginUserId);
  return related.slice(0, mostDevices).filter(isActive).map(recipient);
}

/** Some recipients of a shard, and where the next ones begin; undefined after the last. */
interface RecipientsPage {
  recipients: Recipient[];
  next: Item | undefined;
}

/**
 * Some of the devices that messages to everyone go to, related or not, the one seen last first. Workers read the
 * shards side by side. What happened in the last seconds may be missing.
 * @param shard one of `shards`
 * @param limit how many at most
 * @param start `next` of the page before
 */
export async function recipientsOfLoginApp(
  loginAppId: string,
  shard: number,
  { limit, start }: { limit: number; start?: Item | undefined },
): Promise<RecipientsPage> {
  const { items, next } = await readGlobalList('by_shard', devicesOfLoginAppShard(loginAppId, shard), {
    from: activeSince(),
    limit,
    start,
  });
  const devices = await endLeftoverRelations(items.map((item) => v.parse(device, item)));
  return { recipients: devices.map(recipient), next };
}

/**
 * Removes a device from every list of recipients: its push service reports the token as unregistered. Registering the
 * device again enables it. False when there is no such device.
 */
export async function disableDevice(id: string): Promise<boolean> {
  const { done } = await updateItem(deviceKey(id), {
    setIfAbsent: { disabled_at: timestamp() },
    remove: ['shard'],
    when: { pk: { exists: true } },
  });
  return done;
}

const recipient = ({ device_id, platform, token, last_seen_at, login_user_id }: Device): Recipient => ({
  device_id,
  platform,
  token,
  last_seen_at,
  ...(login_user_id !== undefined && { login_user_id }),
});
