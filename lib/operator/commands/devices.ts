import * as v from 'valibot';
import * as devices from '../../devices/device.ts';
import { importDevices } from '../../devices/import-devices.ts';
import { deviceOfKind } from '../../devices/new-device.ts';
import {
  disableDevice,
  recipientsOfLoginApp,
  recipientsOfLoginUser,
  shardPositionSchema,
  toRecipient,
} from '../../devices/recipients.ts';
import { deviceIdOf } from '../../devices/register-device.ts';
import { endLeftoverRelations, mostDevices } from '../../devices/related-devices.ts';
import { invalid } from '../../foundation/service-error.ts';
import type { LoginApp } from '../../login-apps/login-app.ts';
import { validated } from '../../schema/validation.ts';
import { shards } from '../../storage/table.ts';
import { defineCommands, existing, found, id, lines, optional, secret, text } from '../command.ts';
import { readPageAcross, wrongPlace } from '../pages.ts';
import { after, dryRun, loginApp, loginAppId, loginUserId, platform } from './shared.ts';

const deviceId = id('d_…', 'The device', 'devices list');

export const deviceCommands = defineCommands({
  'devices list': {
    summary: 'List the devices that receive messages to a Login User or to a whole Login App',
    flags: { 'login-user': optional(loginUserId), 'login-app': optional(loginAppId), after },
    example: '--login-user "$LOGIN_USER"',
    run: async ({ 'login-user': login_user_id, 'login-app': login_app_id, after }) => {
      if (login_user_id !== undefined && login_app_id === undefined) {
        if (after !== undefined) throw invalid(onePage);
        return {
          login_user_id,
          devices: (await recipientsOfLoginUser(login_user_id)).map(withoutToken),
        };
      }
      if (login_app_id !== undefined && login_user_id === undefined)
        return {
          login_app_id,
          ...(await devicesPage(await loginApp.find(login_app_id), after, withoutToken)),
        };
      throw invalid('Give either --login-user or --login-app.');
    },
  },
  'devices show': {
    summary: 'Show a device, whose it is and whether it is disabled',
    flags: { device: found(deviceId, 'device', devices.readDevice) },
    run: ({ device }) => deviceShown(device),
  },
  'devices find': {
    summary: 'Show the device that has a push token',
    flags: {
      'login-app': loginApp,
      platform,
      token: secret('A file with the push token; - for standard input'),
    },
    run: async ({ 'login-app': { login_app_id }, platform, token }) => {
      // Of this type, any token is valid; the id doesn't depend on it.
      const given = { platform, token, token_type: 'fcm' };
      const asked = validated(deviceOfKind, given, ([first]) =>
        invalid(`device.${first?.message}`),
      );
      const device = await devices.readDevice(deviceIdOf(login_app_id, asked));
      return deviceShown(existing(device, 'device'));
    },
  },
  'devices disable': {
    summary: 'Stop sending messages to a device until it registers again',
    flags: { device: deviceId },
    run: async ({ device: device_id }) => {
      existing(await disableDevice(device_id), 'device');
      return { device_id, disabled: true };
    },
  },
  'devices import': {
    summary: 'Add the devices of a file; run it again to continue after an interruption',
    flags: {
      'login-app': loginApp,
      devices: lines('A file of JSON objects, one per line: platform, token and more'),
      'dry-run': dryRun,
    },
    run: ({ 'login-app': { login_app_id }, devices, 'dry-run': dryRun = false }) =>
      importDevices(login_app_id, devices, { dryRun }),
  },
  'devices export': {
    summary: 'Print the active devices of a Login App with their tokens, as import reads them',
    flags: { 'login-app': loginApp, after: optional(text('Where an earlier export stopped')) },
    pages: { members: 'devices', from: 'after' },
    run: ({ 'login-app': app, after }) => devicesPage(app, after, toLine),
  },
});

async function devicesPage(
  { login_app_id }: LoginApp,
  after: string | undefined,
  toShown: (found: devices.Device) => Record<string, unknown>,
) {
  const { members, ...page } = await readPageAcross(
    shards,
    after,
    async (shard, { limit, start }) => {
      if (start && !v.is(shardPositionSchema, start)) throw wrongPlace();
      const { recipients, next } = await recipientsOfLoginApp(login_app_id, shard, {
        limit,
        after: start,
      });
      return { members: recipients, next };
    },
  );
  return { devices: members.map(toShown), ...page };
}

/** A recipient without its push token, with which anybody could send to the device. */
function withoutToken(found: devices.Device): Record<string, unknown> {
  const { token: _, ...device } = toRecipient(found);
  return device;
}

/** A device as `import` reads it. The token is a part of it. */
const exportedSchema = v.pick(devices.deviceItem.schema, [
  'platform',
  'token',
  ...devices.detailNames,
  'created_at',
  'last_seen_at',
  'login_user_id',
  'related_at',
  'installation_shared',
]);
const toLine = (found: devices.Device) =>
  v.parse(exportedSchema, { ...found, token_type: devices.tokenTypeOf(found) });

/** A device as it is stored, whether messages go to it, and whose it is, without its push token. */
async function deviceShown(stored: devices.Device) {
  const [current = stored] = await endLeftoverRelations([stored]);
  const { token: _, login_user_since, confirmed_login_user_id, expires_at, ...device } = current;
  return {
    ...device,
    token_type: devices.tokenTypeOf(device),
    active: devices.isActive(current),
    disabled: device.disabled_at !== undefined,
  };
}

const onePage = `A Login User has at most ${mostDevices} devices, all on one page; --after is for a --login-app.`;
