import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { isId } from '../foundation/ids.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { idsAmong } from '../log/audit.ts';
import { annotateIds } from '../log/request-fields.ts';
import { type AuthenticatedUser, activeUser } from '../login-users/login-user.ts';
import { isLoginRecent, requireRecentLogin } from '../login-users/recent-login.ts';
import { updateItem } from '../storage/items.ts';
import { devicesOfLoginUserList } from '../storage/keys.ts';
import { deviceItem, devicesAmong, notExpired } from './device.ts';
import { endSurplusRelations, findSurplus } from './end-relation.ts';

/** `{"device_id": "d_…"}`; other fields are ignored. */
export const relationRequestSchema = v.object(
  { device_id: v.string('device_id must be a string.') },
  'The body must be a JSON object with the field device_id.',
);

/**
 * Relates a registered device to a Login User; the last one wins. One conditional write. When the device was not
 * theirs before, the relations that exceed the limit per person then end. They end for a recent login alone: a token that
 * was stolen takes no messages away from the person's phones.
 * @throws ServiceError `not_found` for an unknown user or a device that is unknown or was replaced, `forbidden` for a device of another Login App,
 *   `unprocessable_entity` for a blocked user or a disabled device, `insufficient_user_authentication`
 */
export async function relateDevice(caller: AuthenticatedUser, id: string): Promise<void> {
  const { loginAppId, loginUserId, sessionId } = caller;
  const { created_at } = activeUser(caller, 'unprocessable_entity');
  if (!isId('d_…', id)) throw noSuchDevice();
  const isRecent = isLoginRecent(caller);
  if (!isRecent && (await findSurplus(loginUserId, id)).length > 0) requireRecentLogin(caller);
  const update = await updateItem(deviceItem(id), {
    set: {
      login_user_id: loginUserId,
      login_user_since: created_at,
      related_at: timestamp(),
      related_session_id: sessionId,
      list: devicesOfLoginUserList(loginUserId),
    },
    when: {
      login_app_id: { is: loginAppId },
      disabled_at: { exists: false },
      replaced_by: { exists: false },
      ...notExpired(),
    },
  });
  if (update.done) {
    const former_login_user_id = update.before?.login_user_id;
    if (former_login_user_id === loginUserId) return;
    // In the audit line: whoever knows a device's id can take its messages.
    annotateIds(idsAmong({ former_login_user_id }));
    if (isRecent) await endSurplusRelations(loginUserId, id);
    return;
  }
  const [found] = update.found ? devicesAmong([update.found]) : [];
  if (!found) throw noSuchDevice();
  if (found.login_app_id !== loginAppId)
    throw new ServiceError('forbidden', 'The device does not belong to the Login App of this token.');
  if (found.replaced_by !== undefined) throw noSuchDevice();
  throw new ServiceError('unprocessable_entity', disabled, {
    errors: [{ field: 'device_id', message: disabled }],
  });
}

const disabled = 'The device is disabled; register it again first.';

const noSuchDevice = (): ServiceError => new ServiceError('not_found', 'The device does not exist.');
