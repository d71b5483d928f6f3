import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { idForms, isId } from '../foundation/ids.ts';
import { ServiceError } from '../foundation/service-error.ts';
import type { Platform } from '../login-apps/client-metadata.ts';
import { type AuthenticatedClient, requireEnabled } from '../login-apps/clients.ts';
import { timestampField } from '../schema/json-schema.ts';
import { updateOwnItem } from '../storage/items.ts';
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

/** A place in a shard: after this device, which was last seen at this time. */
export const placeSchema = v.object({
  device_id: v.pipe(v.string(), v.regex(idForms['d_…'])),
  last_seen_at: v.pipe(v.string(), v.isoTimestamp()),
});
export type Place = v.InferOutput<typeof placeSchema>;

/**
 * Some of the devices that messages to everyone go to, the one seen least recently first. The index
 * lags behind: each device is read again, so its person is the current one, but a device of the
 * last seconds may be missing. One that registers while a worker reads moves to the end: it may
 * come again, but is never missed.
 * @param limit how many are read; of these, only those of the platform are listed
 * @param after `next` of the page before
 */
export async function recipientsOfLoginApp(
  loginAppId: string,
  shard: number,
  {
    limit,
    after,
    platform,
  }: { limit: number; after?: Place | undefined; platform?: Platform | undefined },
) {
  const list = devicesOfLoginAppShard(loginAppId, shard);
  const from = activeSince();
  // No device between an outdated place and `from` is active, and the store rejects such a place as
  // a start.
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
  const ids = items
    .filter((item) => platform === undefined || item.platform === platform)
    .map(({ device_id }) => String(device_id));
  const devices = devicesAmong(await readMembers(ids.map(deviceKey))).filter(
    (one) => one.login_app_id === loginAppId && isActive(one),
  );
  const recipients = await endLeftoverRelations(devices);
  const place = {
    device_id: String(next?.pk).replace('DEVICE#', ''),
    last_seen_at: next?.shard_position,
  };
  return { recipients, next: next && v.parse(placeSchema, place) };
}

/**
 * Removes a device, of one Login App or any, from every list until it registers again. False when
 * there is none.
 */
export const disableDevice = (id: string, loginAppId?: string): Promise<boolean> =>
  updateOwnItem(deviceItem(id), {
    setIfAbsent: { disabled_at: timestamp() },
    remove: ['shard'],
    when: {
      ...notExpired(),
      ...(loginAppId === undefined
        ? { pk: { exists: true } }
        : { login_app_id: { is: loginAppId } }),
    },
  });

/**
 * Disables a device for a sender.
 * @throws ServiceError as `loginAppOfSender` does, and `not_found` for no such device
 */
export async function disableRecipient(client: AuthenticatedClient, id: string): Promise<void> {
  const loginAppId = await loginAppOfSender(client);
  if (!isId('d_…', id) || !(await disableDevice(id, loginAppId)))
    throw new ServiceError('not_found', 'The Login App has no such device.');
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
export function toRecipient({ environment = 'production', ...found }: Device) {
  const token_type = tokenTypeOf(found);
  return v.parse(recipientSchema, {
    ...found,
    token_type,
    ...(token_type === 'apns' && { environment }),
  });
}
