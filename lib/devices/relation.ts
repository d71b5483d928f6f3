import { timestamp } from '../foundation/clock.ts';
import { ServiceError } from '../foundation/service-error.ts';
import type { AuthenticatedUser, LoginUser } from '../login-users/login-user.ts';
import type { Item } from '../storage/items.ts';
import { devicesOfLoginUserList } from '../storage/keys.ts';
import { devicesAmong, notExpired } from './device.ts';

/** The change that links a device to the person who asks for it. */
export const relationBy = (
  caller: AuthenticatedUser,
  { login_user_id, created_at }: LoginUser,
) => ({
  set: {
    login_user_id,
    login_user_since: created_at,
    related_at: timestamp(),
    related_session_id: caller.session_id,
    list: devicesOfLoginUserList(login_user_id),
  },
  // The person links this device itself: the link has not moved here from another device.
  remove: ['moved_from', 'took_over'],
  when: {
    login_app_id: { is: caller.login_app_id },
    disabled_at: { exists: false },
    replaced_by: { exists: false },
    ...notExpired(),
  },
});

/**
 * The error for a device that can't be linked; undefined if it can be.
 * @param item the device as it was found
 */
export function relationError(
  caller: AuthenticatedUser,
  item: Item | undefined,
): ServiceError | undefined {
  const [device] = item ? devicesAmong([item]) : [];
  if (!device) return noSuchDevice();
  if (device.login_app_id !== caller.login_app_id)
    return new ServiceError(
      'forbidden',
      'The device does not belong to the Login App of this token.',
    );
  if (device.replaced_by !== undefined) return noSuchDevice();
  if (device.disabled_at === undefined) return undefined;
  const message = 'The device is disabled; register it again first.';
  return new ServiceError('unprocessable_entity', message, {
    errors: [{ field: 'device_id', message }],
  });
}

export const noSuchDevice = (): ServiceError =>
  new ServiceError('not_found', 'The device does not exist.');
