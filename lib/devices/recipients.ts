import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { idForms, isId } from '../foundation/ids.ts';
import { ServiceError } from '../foundation/service-error.ts';
import type { Platform } from '../login-apps/client-metadata.ts';
import { type AuthenticatedClient, requireEnabled } from '../login-apps/clients.ts';
import { timestampField } from '../schema/json-schema.ts';
import { type Item, updateOwnItem } from '../storage/items.ts';
import { deviceKey, devicesOfLoginAppShard } from '../storage/keys.ts';
import { readGlobalList, readMembers } from '../storage/lists.ts';
import {
  activeSince,
  type Device,
  details,
  deviceItem,
  devicesAmong,
  isActive,
  notExpired,
  tokenTypeOf,
  tokenTypes,
} from './device.ts';
import { endLeftoverRelations, readCurrentDevices } from './related-devices.ts';

/**
 * A device as a worker that sends messages sees it, and whose it is. Unknown fields are left out.
 */
export const recipientSchema = v.object({
  device_id: v.string(),
  platform: deviceItem.schema.entries.platform,
  token: v.string(),
  ...v.omit(v.object(details), ['installation_id']).entries,
  token_type: v.picklist(tokenTypes),
  last_seen_at: timestampField,
  login_user_id: v.optional(v.string()),
});

/** The devices that messages to a Login User go to, each strongly consistent. */
export const recipientsOfLoginUser = async (loginUserId: string): Promise<Device[]> =>
  (await readCurrentDevices(loginUserId)).filter(isActive);

/** The last device that was read of a shard, and when it was last seen: the next one follows it. */
export const shardPositionSchema = v.object({
  device_id: v.pipe(v.string(), v.regex(idForms['d_…'])),
  last_seen_at: v.pipe(v.string(), v.isoTimestamp()),
});
export type ShardPosition = v.InferOutput<typeof shardPositionSchema>;

interface PageOfShard {
  /** How many devices are read; of these, only those of the platform are listed. */
  limit: number;
  /** The `next` of the page before. */
  after?: ShardPosition | undefined;
  platform?: Platform | undefined;
}

/**
 * Some of the devices that messages to everyone go to, the one seen least recently first. The index
 * lags behind. Each device is read again, so its person is the current one, but a device of the
 * last seconds may be missing. One that registers while a worker reads moves to the end: it may
 * come again, but is never missed.
 */
export async function recipientsOfLoginApp(
  loginAppId: string,
  shard: number,
  { limit, after, platform }: PageOfShard,
): Promise<{ recipients: Device[]; next: ShardPosition | undefined }> {
  const list = devicesOfLoginAppShard(loginAppId, shard);
  const from = activeSince();
  // The store rejects a start before `from`. No device is active there, so the page can as well
  // begin with the first active one.
  const isWithin = after !== undefined && after.last_seen_at >= from;
  const start = isWithin
    ? { ...deviceKey(after.device_id), shard: list, shard_position: after.last_seen_at }
    : undefined;
  const { items, next } = await readGlobalList('by_shard', list, {
    from,
    limit,
    start,
    order: 'ascending',
  });

  const ofPlatform = items.filter((item) => platform === undefined || item.platform === platform);
  const keys = ofPlatform.map(({ device_id }) => deviceKey(String(device_id)));
  const devices = devicesAmong(await readMembers(keys));
  const active = devices.filter((one) => one.login_app_id === loginAppId && isActive(one));
  const recipients = await endLeftoverRelations(active);
  return { recipients, next: next && positionOf(next) };
}

/** The position of an item in its shard, from its key in the index. */
const positionOf = ({ pk, shard_position }: Item): ShardPosition =>
  v.parse(shardPositionSchema, {
    device_id: String(pk).replace('DEVICE#', ''),
    last_seen_at: shard_position,
  });

/**
 * Removes a device from every list until it registers again.
 * @param loginAppId the Login App that must have it; without one, any may
 * @returns false when there is no such device
 */
export function disableDevice(id: string, loginAppId?: string): Promise<boolean> {
  const isThere =
    loginAppId === undefined ? { pk: { exists: true } } : { login_app_id: { is: loginAppId } };
  return updateOwnItem(deviceItem(id), {
    setIfAbsent: { disabled_at: timestamp() },
    remove: ['shard'],
    when: { ...notExpired(), ...isThere },
  });
}

/**
 * Disables a device for a sender.
 * @throws ServiceError as `loginAppOfSender` does, and `not_found` for no such device
 */
export async function disableRecipient(client: AuthenticatedClient, id: string): Promise<void> {
  const loginAppId = await loginAppOfSender(client);
  const isDisabled = isId('d_…', id) && (await disableDevice(id, loginAppId));
  if (!isDisabled) throw new ServiceError('not_found', 'The Login App has no such device.');
}

/**
 * The Login App to whose devices a client may send.
 * @throws ServiceError `forbidden`; `unauthorized_client` if it is disabled
 */
export async function loginAppOfSender(client: AuthenticatedClient): Promise<string> {
  if (!client.mayReadRecipients)
    throw new ServiceError('forbidden', 'The client may not read recipients.');
  await requireEnabled(client.loginAppId);
  return client.loginAppId;
}

/** Converts a device for a worker. Only one with a token of APNs gets an environment. */
export function toRecipient(device: Device): v.InferOutput<typeof recipientSchema> {
  const { environment = 'production', ...others } = device;
  const token_type = tokenTypeOf(device);
  const hasEnvironment = token_type === 'apns';
  const shown = hasEnvironment ? { ...others, environment } : others;
  return v.parse(recipientSchema, { ...shown, token_type });
}
