// Devices for push notifications: registration, relations to people, installations, recipients and imports. It sends
// nothing. It calls the storage, and reads Login Apps and Login Users.

import * as v from 'valibot';
import { ago, epochSeconds } from '../foundation/clock.ts';
import { platforms } from '../login-apps/client-metadata.ts';
import { type Item, type ItemOf, itemKind, readItem } from '../storage/items.ts';
import { deviceKey, devicesOfLoginAppShard } from '../storage/keys.ts';
import { shardNumberOf } from '../storage/table.ts';

/** The gateways of Apple's push service: a token of the one means nothing to the other. */
export const environments = ['production', 'sandbox'] as const;

/** Types of push tokens: a device token of APNs, a registration token of FCM, or a Firebase installation id. */
export const tokenTypes = ['apns', 'fcm', 'fid'] as const;

/** Details that a registration may leave out. Registration, import, export and what senders get follow this list. */
export const details = {
  /** Absent where nothing was said, which `tokenTypeOf` reads. */
  token_type: v.exactOptional(v.picklist(tokenTypes)),
  /** Absent for Firebase, and where nothing was said. */
  environment: v.exactOptional(v.picklist(environments)),
  /** A language tag (BCP 47) in its canonical form. */
  locale: v.exactOptional(v.string()),
  app_version: v.exactOptional(v.string()),
  installation_id: v.exactOptional(v.string()),
};
export const detailNames = v.keyof(v.object(details)).options;

export const deviceItem = itemKind(
  v.object({
    device_id: v.string(),
    login_app_id: v.string(),
    platform: v.picklist(platforms),
    /** The push token, in lower case if it is one of APNs. */
    token: v.string(),
    ...details,
    created_at: v.string(),
    last_seen_at: v.string(),
    /** Epoch seconds of its end, after which the table may have it still. */
    expires_at: v.number(),
    login_user_id: v.exactOptional(v.string()),
    /** `created_at` of that Login User: one whose item was deleted, and created again, has another. */
    login_user_since: v.exactOptional(v.string()),
    related_at: v.exactOptional(v.string()),
    /** The session that related it; when that session is logged out, the relation ends. */
    related_session_id: v.exactOptional(v.string()),
    disabled_at: v.exactOptional(v.string()),
    /** The device that took its place in its installation. */
    replaced_by: v.exactOptional(v.string()),
    /** The device whose place it took, and with it the person. */
    took_over: v.exactOptional(v.string()),
  }),
  deviceKey,
);
export type Device = ItemOf<typeof deviceItem>;

export const personSchema = v.pick(deviceItem.schema, [
  'login_user_id',
  'login_user_since',
  'related_at',
  'related_session_id',
]);

/** The attributes of a device that a relation sets, and that go with it. */
export const relation = [...v.keyof(personSchema).options, 'list'];

/** The type of a device's push token: `apns` for ios and `fcm` for android, unless its registration said another one. */
export const tokenTypeOf = ({
  platform,
  token_type = platform === 'ios' ? 'apns' : 'fcm',
}: Pick<Device, 'platform' | 'token_type'>): (typeof tokenTypes)[number] => token_type;

/** Milliseconds after which a device that was not seen is stale: 270 days, as FCM expires its own tokens. */
const staleAfter = 270 * 24 * 60 * 60 * 1000;

/** Seconds after its last registration until a device is deleted: 400 days. */
export const deviceLifetimeSeconds = 400 * 86_400;

/** The earliest time, ISO 8601, at which a device may have been seen last and still get messages. */
export const activeSince = (): string => ago(staleAfter);

export const isActive = ({ disabled_at, replaced_by, last_seen_at }: Device): boolean =>
  disabled_at === undefined && replaced_by === undefined && last_seen_at >= activeSince();

export async function readDevice(id: string): Promise<Device | undefined> {
  const device = await readItem(deviceItem(id));
  return device && hasExpired(device) ? undefined : device;
}

/** The devices that some items hold; one that has expired is gone. */
export const devicesAmong = (items: Item[]): Device[] =>
  items.map(deviceItem.parse).filter((device) => !hasExpired(device));

/** Whether a device is gone, though the table may have its item for days yet. */
export const hasExpired = ({ expires_at }: Device): boolean => expires_at <= epochSeconds();

/** The condition that a device, if the table has it, has not expired. */
export const notExpired = () => ({ expires_at: { isNotUpTo: epochSeconds() } });

export const shardOf = (loginAppId: string, deviceId: string): string =>
  devicesOfLoginAppShard(loginAppId, shardNumberOf(deviceId));
