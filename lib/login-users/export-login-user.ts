import { timestamp } from '../clock.ts';
import { readRelatedDevices } from '../devices/related-devices.ts';
import { readSessions } from '../sessions/session.ts';
import type { LoginUser } from './login-user.ts';

/**
 * Everything that is known about a person, for when they ask. The push tokens of their devices are left out: whoever
 * has one could send to the device.
 */
export async function exportLoginUser(user: LoginUser): Promise<Record<string, unknown>> {
  const { namespace, subject, provider, ...self } = user;
  const { login_user_id, created_at, last_login_at } = user;
  const [sessions, devices] = await Promise.all([
    readSessions(login_user_id),
    readRelatedDevices(login_user_id),
  ]);
  return {
    exported_at: timestamp(),
    login_user: self,
    identities: [{ provider, namespace, subject, linked_at: created_at, last_login_at }],
    sessions: sessions.map(({ login_user_id: _, ...session }) => session),
    devices: devices.map(({ token: _, login_user_since, ...device }) => device),
    /** What happened to them is in the log, which is not in the table. */
    log_lines: {
      where: 'the CloudWatch log groups of the stack, for as long as each keeps its lines',
      filter_pattern: `{ $.login_user_id = "${login_user_id}" }`,
    },
  };
}
