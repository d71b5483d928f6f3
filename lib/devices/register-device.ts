import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { logEvent } from '../log/log.ts';
import { annotateIds } from '../log/request-fields.ts';
import type { Platform } from '../login-apps/client-metadata.ts';
import { hasMobileApplication } from '../login-apps/mobile-applications.ts';
import { textField } from '../schema/json-schema.ts';
import { type UpdateOutcome, updateItem } from '../storage/items.ts';
import { hashOf } from '../storage/keys.ts';
import {
  detailNames,
  details,
  deviceItem,
  deviceLifetimeSeconds,
  notExpired,
  relation,
  shardOf,
} from './device.ts';
import { formerAttributes, replaceDevice, takeInstallation } from './installation.ts';
import { apnsToken, type NewDevice } from './new-device.ts';

export const registeredDeviceSchema = v.object({
  id: textField('The device, accepted as `device_id` when it is related to a person.'),
});

/** The id of the device with a token on a platform, whatever the token's type. */
export function deviceIdOf(loginAppId: string, { platform, token }: Pick<NewDevice, 'platform' | 'token'>) {
  const isApnsToken = platform === 'ios' && apnsToken.test(token);
  return `d_${hashOf(loginAppId, platform, isApnsToken ? token.toLowerCase() : token)}`;
}

/**
 * Registers a device for push notifications. The same token is the same device, and each registration replaces the details
 * of the one before. It is one write, so exactly one of several requests at once creates the device; an installation id takes
 * one more before it, or two when the installation had another device.
 * @throws ServiceError `not_found` when the Login App has no mobile application for the platform
 */
export async function registerDevice(loginAppId: string, newDevice: NewDevice) {
  const { platform, installation_id = '' } = newDevice;
  if (!(await hasMobileApplication(loginAppId, platform)))
    throw new ServiceError('not_found', noMobileApplication(platform));
  const id = deviceIdOf(loginAppId, newDevice);
  const predecessor = installation_id ? await takeInstallation(loginAppId, installation_id, id) : undefined;
  const isNew = predecessor !== undefined && !predecessor.isEarlier;
  const taken = isNew ? await replaceDevice(predecessor.id, installation_id, id) : undefined;
  const now = timestamp();
  const attributes = attributesOf(loginAppId, newDevice, now);
  const missing = detailNames.filter((name) => attributes[name] === undefined);
  const set = { ...attributes, ...taken?.set };
  const remove = ['disabled_at', 'replaced_by', ...formerAttributes, ...missing, ...(taken?.remove ?? [])];
  const update = await updateItem(deviceItem(id), {
    set,
    setIfAbsent: { created_at: now },
    remove,
    when: notExpired(),
  });
  if (!update.done) {
    // The table still has an expired device with this token: the new one is nobody's.
    const ofFormer = ['took_over', ...relation].filter((name) => !Object.hasOwn(set, name));
    await updateItem(deviceItem(id), {
      set: { ...set, created_at: now },
      remove: [...new Set([...remove, ...ofFormer])],
      when: { expires_at: { is: Number(update.found?.expires_at) } },
    });
  }
  if (taken) noteFormerOwner(update, taken.set);
  const took_over = update.done && (update.before ?? update.after)?.took_over;
  if (predecessor?.isEarlier && took_over !== predecessor.id) {
    // The registration that took the installation was interrupted before it took over the person.
    const left = await replaceDevice(predecessor.id, installation_id, id);
    const when = { replaced_by: { exists: false } };
    noteFormerOwner(await updateItem(deviceItem(id), { ...left, when }), left.set);
  }
  const isCreated = !update.done || update.created;
  logEvent('device_registered', { platform, outcome: isCreated ? 'created' : 'known' });
  return { id, isCreated };
}

/** Notes for the audit line who had a device until it took over another one's person. */
function noteFormerOwner(update: UpdateOutcome, taken: { took_over: string; login_user_id?: string }): void {
  const { login_user_id: former_login_user_id } = (update.done && update.before) || {};
  if (former_login_user_id !== taken.login_user_id) annotateIds({ former_login_user_id });
}

export const noMobileApplication = (platform: Platform): string =>
  `The Login App has no mobile application for ${platform}.`;

/** Attributes of the item of a device, apart from its creation and its relation. */
export function attributesOf(loginAppId: string, newDevice: NewDevice, lastSeenAt: string) {
  const { platform, token } = newDevice;
  const id = deviceIdOf(loginAppId, newDevice);
  return {
    device_id: id,
    login_app_id: loginAppId,
    platform,
    token,
    ...v.parse(v.object(details), newDevice),
    last_seen_at: lastSeenAt,
    expires_at: Math.floor(Date.parse(lastSeenAt) / 1000) + deviceLifetimeSeconds,
    list_position: lastSeenAt,
    shard: shardOf(loginAppId, id),
    shard_position: lastSeenAt,
  };
}
