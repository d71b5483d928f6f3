import { type Device, tokenTypeOf } from '../../devices/device.ts';
import { readRelatedDevices } from '../../devices/related-devices.ts';
import { isoTime, timestamp } from '../../foundation/clock.ts';
import {
  endOfGuest,
  guestClaim,
  type LoginUser,
  latestLoginOf,
} from '../../login-users/login-user.ts';
import { identitiesOf } from '../identities/identities-of-person.ts';
import { readSessions } from '../sessions/session.ts';

/**
 * Everything that is known about a person, but for push tokens, with which anybody could send to
 * the device.
 */
export async function exportLoginUser(user: LoginUser): Promise<Record<string, unknown>> {
  const {
    login_user_id,
    login_app_id,
    external_id,
    created_at,
    imported_at,
    blocked_at,
    hijacked_at,
    email_enabled_at,
    email_disabled_at,
  } = user;
  const last_login_at = latestLoginOf(user);
  const guestEnd = endOfGuest(user);
  const [sessions, devices] = await Promise.all([
    readSessions(login_user_id),
    readRelatedDevices(login_user_id),
  ]);
  return {
    exported_at: timestamp(),
    login_user: {
      login_user_id,
      login_app_id,
      external_id,
      guest: guestClaim(user),
      guest_until: guestEnd === undefined ? undefined : isoTime(guestEnd),
      created_at,
      imported_at,
      last_login_at,
      blocked_at,
      hijacked_at,
      email_enabled_at,
      email_disabled_at,
    },
    identities: identitiesOf(user),
    sessions: sessions.map(({ login_user_id: _, ...session }) => session),
    devices: devices.map(exported),
    log_lines: {
      where:
        'the CloudWatch log groups of the stack, for as long as each keeps its lines, and the audit log: the log group in the output AuditLogGroup of the stack',
      filter_pattern: `{ $.login_user_id = "${login_user_id}" }`,
    },
  };
}

/** A device as a person may see it, without what only the service needs. */
function exported(found: Device): Record<string, unknown> {
  const { token: _, login_user_since, confirmed_login_user_id, expires_at, ...device } = found;
  return { ...device, token_type: tokenTypeOf(device) };
}
