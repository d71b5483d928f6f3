import * as v from 'valibot';
import { type Device, isActive, readDevice } from '../../devices/device.ts';
import { importDevices } from '../../devices/import-devices.ts';
import { registrationRequest } from '../../devices/new-device.ts';
import { deviceIdOf } from '../../devices/register-device.ts';
import { mostDevices } from '../../devices/related-devices.ts';
import { endLeftoverRelations } from '../../devices/relation.ts';
import {
  disableDevice,
  place,
  recipientsOfLoginApp,
  recipientsOfLoginUser,
  shards,
  toRecipient,
} from '../../devices/sending.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { importLines } from '../../schema/import-lines.ts';
import { invalidRequest, validated } from '../../schema/validation.ts';
import { readPageAcross, wrongPlace } from '../../storage/pages.ts';
import type { CommandsOf } from '../commands-of.ts';
import { requireLoginApp } from './login-apps.ts';

export const deviceCommands: CommandsOf<'devices'> = {
  list: async ({ 'login-user': loginUser, 'login-app': loginApp, after }) => {
    if (loginUser !== undefined && loginApp === undefined) {
      if (after !== undefined) throw onePage();
      return { login_user_id: loginUser, devices: (await recipientsOfLoginUser(loginUser)).map(shown) };
    }
    if (loginApp !== undefined && loginUser === undefined) {
      return { login_app_id: loginApp, ...(await pageOfLoginApp(loginApp, after, shown)) };
    }
    throw new ServiceError('invalid_request', 'Give either --login-user or --login-app.');
  },
  show: async ({ device: id }) => stored(await readDevice(id)),
  find: async ({ 'login-app': id, platform, token }) => {
    const { login_app_id } = await requireLoginApp(id);
    const { device: asked } = validated(registrationRequest, { device: { platform, token } }, invalidRequest);
    return stored(await readDevice(deviceIdOf(login_app_id, asked)));
  },
  disable: async ({ device }) => {
    if (!(await disableDevice(device))) throw noSuchDevice();
    return { device_id: device, disabled: true };
  },
  import: async ({ 'login-app': loginApp, devices }) => {
    await requireLoginApp(loginApp);
    return { ...(await importDevices(loginApp, validated(importLines, devices, invalidRequest))) };
  },
  export: ({ 'login-app': loginApp, after }) => pageOfLoginApp(loginApp, after, toLine),
};

/** A page of the devices of a Login App, one shard after the other. */
async function pageOfLoginApp(
  id: string,
  after: string | undefined,
  toShown: (found: Device) => Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const { login_app_id } = await requireLoginApp(id);
  const { members, ...page } = await readPageAcross(shards.length, after, async (shard, { limit, start }) => {
    if (start && !v.is(place, start)) throw wrongPlace();
    const { recipients, next } = await recipientsOfLoginApp(login_app_id, shard, { limit, after: start });
    return { members: recipients, next };
  });
  return { devices: members.map(toShown), ...page };
}

/** A recipient without its push token, with which anybody could send to the device. */
function shown(found: Device): Record<string, unknown> {
  const { token: _, ...device } = toRecipient(found);
  return device;
}

/** A device as `import` reads it. The token is a part of it. */
const toLine = ({ platform, token, environment, locale, app_version, installation_id, ...more }: Device) => ({
  platform,
  token,
  environment,
  locale,
  app_version,
  installation_id,
  created_at: more.created_at,
  last_seen_at: more.last_seen_at,
  login_user_id: more.login_user_id,
  related_at: more.related_at,
});

/** A device as it is stored, whether messages go to it, and whose it is, without its push token. */
async function stored(found: Device | undefined): Promise<Record<string, unknown>> {
  if (!found) throw noSuchDevice();
  const [current = found] = await endLeftoverRelations([found]);
  const { token: _, login_user_since, ...device } = current;
  return { ...device, active: isActive(device), disabled: device.disabled_at !== undefined };
}

const onePage = (): ServiceError =>
  new ServiceError(
    'invalid_request',
    `A Login User has at most ${mostDevices} devices, all on one page; --after is for a --login-app.`,
  );

const noSuchDevice = (): ServiceError => new ServiceError('not_found', 'There is no such device.');
