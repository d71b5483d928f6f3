import { deviceListSchema, listDevices } from '../lib/devices/related-devices.ts';
import { loginUserToken } from '../lib/http/auth/login-user-token.ts';
import { ok, serve } from '../lib/http/serve.ts';
import { requireActiveUser } from '../lib/login-users/login-user.ts';

export const { endpoint, handler } = serve({
  route: 'GET /v2/marketing/login/user/push_notifications/devices',
  authenticate: loginUserToken,
  table: { devices: ['GetItem', 'BatchGetItem', 'Query', 'UpdateItem'] },
  handle: async ({ caller }) => ok(await listDevices(requireActiveUser(caller).login_user_id)),
  document: !process.env.BUNDLED && {
    summary: 'Lists the devices that are linked to the Login User',
    description:
      'At most 20 devices, the one seen last first. `active` is false for a device that gets no messages: its push service no longer knows it, or it was not seen for 270 days.',
    tag: 'Devices',
    responses: {
      200: {
        description: 'At most 20 devices, the one seen last first.',
        body: deviceListSchema,
        example: {
          devices: [
            {
              id: 'd_XwZ30yeACRUPZ7uhn2HMRtKmP4tggv6G4s-UnQ2ff4M',
              active: true,
              platform: 'android',
              token_type: 'fcm',
              created_at: '2026-01-31T08:00:00.000Z',
              last_seen_at: '2026-01-31T08:00:00.000Z',
              related_at: '2026-01-31T08:00:00.000Z',
            },
          ],
        },
        links: {
          End: {
            operationId: 'end-device-relation',
            description: 'Unlinks a device; here, the first one.',
            parameters: { device_id: '$response.body#/devices/0/id' },
          },
        },
      },
    },
  },
});
