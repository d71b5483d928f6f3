import { endRelation } from '../lib/devices/relate-device.ts';
import { loginUserToken } from '../lib/http/auth/login-user-token.ts';
import { noContent, serve } from '../lib/http/serve.ts';
import { requireActiveUser } from '../lib/login-users/login-user.ts';
import { textField } from '../lib/schema/json-schema.ts';

export const { endpoint, handler } = serve({
  route: 'DELETE /v2/marketing/login/user/push_notifications/devices/{device_id}',
  authenticate: loginUserToken,
  parameters: { path: { device_id: textField('The `id` that the registration returned.') } },
  table: { devices: ['GetItem', 'UpdateItem'] },
  handle: async ({ caller, path }) =>
    noContent(endRelation(requireActiveUser(caller).login_user_id, path.device_id)),
  document: !process.env.BUNDLED && {
    summary: 'Unlinks a device from the Login User',
    description:
      'Messages for the person no longer go to this device. Logging out also unlinks the devices that the session linked.',
    tag: 'Devices',
    responses: { 204: { description: 'The device is no longer linked to the person.' } },
    errors: {
      not_found: {
        when: 'The person has no such device, or does not exist.',
        example: 'The Login User has no such device.',
      },
    },
    example: { path: { device_id: `d_${'A'.repeat(43)}` } },
  },
});
