import * as v from 'valibot';
import { ago, epochSeconds } from '../foundation/clock.ts';
import { platforms } from '../login-apps/client-metadata.ts';
import { type Item, type ItemOf, itemKind, readItem } from '../storage/items.ts';
import { deviceKey, devicesOfLoginAppShard } from '../storage/keys.ts';
import { shardNumberOf } from '../storage/table.ts';

/** The gateways of Apple's push service, each with tokens of its own. */
export const environments = ['production', 'sandbox'] as const;

/**
 * Types of push tokens: a device token of APNs, a registration token of FCM, a Firebase
 * installation id.
 */
export const tokenTypes = ['apns', 'fcm', 'fid'] as const;

/**
 * Details that a registration may leave out. Registration, import, export and senders follow this
 * list.
 */
export const details = {
  /** As the registration said; `tokenTypeOf` has the defaults. */
  token_type: v.exactOptional(v.picklist(tokenTypes)),
  /**
   * Never of a Firebase token.
   * @default 'production'
   */
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
    /** Epoch seconds of its end. The table may have it for days after that. */
    expires_at: v.number(),
    login_user_id: v.exactOptional(v.string()),
    /** `created_at` of that Login User: one who was deleted and created again has another. */
    login_user_since: v.exactOptional(v.string()),
    related_at: v.exactOptional(v.string()),
    /** The session that linked it to the person, whose logout unlinks it. */
    related_session_id: v.exactOptional(v.string()),
    /** The person who linked it after a recent login. A link to anybody else is unconfirmed. */
    confirmed_login_user_id: v.exactOptional(v.string()),
    /** The device that the person linked, if the link has moved here with the installation. */
    moved_from: v.exactOptional(v.string()),
    /** The device that it replaced: 1.0.0 wrote this even where no link moved. */
    took_over: v.exactOptional(v.string()),
    disabled_at: v.exactOptional(v.string()),
    /** The device that has replaced it in the installation. */
    replaced_by: v.exactOptional(v.string()),
    /** Whether two phones have the id of its installation. */
    installation_shared: v.exactOptional(v.boolean()),
  }),
  deviceKey,
);
export type Device = ItemOf<typeof deviceItem>;

/** The link of a device to a person: to whom, since when and by which session. */
export const personSchema = v.pick(deviceItem.schema, [
  'login_user_id',
  'login_user_since',
  'related_at',
  'related_session_id',
  'confirmed_login_user_id',
  'took_over',
]);

/** The attributes of a device that come and go with its link to a person. */
export const relation = [...v.keyof(personSchema).options, 'moved_from', 'list'];

/** The conditions that a device is still linked as it was when it was read. */
export const sameRelation = ({ login_user_id, related_at, related_session_id }: Device) => ({
  login_user_id: { is: login_user_id },
  related_at: { is: related_at },
  related_session_id: { is: related_session_id },
});

/** The type of a device's token, by default that of the platform's own push service. */
export function tokenTypeOf(
  device: Pick<Device, 'platform' | 'token_type'>,
): (typeof tokenTypes)[number] {
  const ofPlatform = device.platform === 'ios' ? 'apns' : 'fcm';
  return device.token_type ?? ofPlatform;
}

/**
 * Milliseconds after which a device that was not seen is stale: 270 days, as for FCM's own tokens.
 */
const staleAfter = 270 * 24 * 60 * 60 * 1000;

/** Seconds from the last registration of a device to its end: 400 days. */
export const deviceLifetimeSeconds = 400 * 86_400;

/** The earliest `last_seen_at` with which a device still gets messages. */
export const activeSince = (): string => ago(staleAfter);

export const isActive = ({ disabled_at, replaced_by, last_seen_at }: Device): boolean =>
  disabled_at === undefined && replaced_by === undefined && last_seen_at >= activeSince();

/** Whether the person whose device it is has linked it after a recent login. */
export const isConfirmed = ({ login_user_id, confirmed_login_user_id }: Device): boolean =>
  login_user_id === confirmed_login_user_id;

export async function readDevice(id: string): Promise<Device | undefined> {
  const device = await readItem(deviceItem(id));
  return device && hasExpired(device) ? undefined : device;
}

/** The devices among some items, except those that have expired. */
export const devicesAmong = (items: Item[]): Device[] =>
  items.map(deviceItem.parse).filter((device) => !hasExpired(device));

export const hasExpired = ({ expires_at }: Device): boolean => expires_at <= epochSeconds();

/** The condition that a device does not exist or has not expired. */
export const notExpired = () => ({ expires_at: { isNotUpTo: epochSeconds() } });

export const shardOf = (loginAppId: string, deviceId: string): string =>
  devicesOfLoginAppShard(loginAppId, shardNumberOf(deviceId));
