import { registeredDeviceSchema } from '../lib/devices/register-device.ts';
import { relateDevice, relationRequestSchema } from '../lib/devices/relate-device.ts';
import { loginUserToken } from '../lib/http/auth/login-user-token.ts';
import { json } from '../lib/http/body.ts';
import { ok, serve } from '../lib/http/serve.ts';
import { unprocessableEntity } from '../lib/schema/validation.ts';
import { exampleOfOldLogin } from './shared/errors.ts';

export const { endpoint, handler } = serve({
  route: 'POST /v2/marketing/login/user/push_notifications/devices',
  isBusy: true,
  authenticate: loginUserToken,
  body: json(relationRequestSchema, unprocessableEntity),
  table: {
    devices: ['GetItem', 'BatchGetItem', 'Query', 'UpdateItem'],
    login_users: ['UpdateItem'],
  },
  handle: async ({ caller, body }) => {
    await relateDevice(caller, body.device_id);
    return ok({ id: body.device_id });
  },
  document: !process.env.BUNDLED && {
    summary: 'Links a registered device to the Login User',
    description:
      'Messages for the person then go to this device. A device belongs to one person at a time: the last one to link it wins. A person has at most 20 devices, of which at most nine were linked without a recent login. After a recent login, a 21st device unlinks another one: first one that was linked without a recent login, then the one seen least recently.',
    tag: 'Devices',
    responses: {
      200: {
        description: 'The device now belongs to the person.',
        body: registeredDeviceSchema,
        example: { id: 'd_XwZ30yeACRUPZ7uhn2HMRtKmP4tggv6G4s-UnQ2ff4M' },
        links: {
          End: {
            operationId: 'end-device-relation',
            description: 'Unlinks the device again.',
            parameters: { device_id: '$response.body#/id' },
          },
        },
      },
    },
    errors: {
      insufficient_user_authentication: {
        when: 'The login is longer ago than the operator allows, 15 minutes by default, and the person has 20 other devices, or nine that they have linked without a recent login. Log in again and repeat the request.',
        example: exampleOfOldLogin,
      },
      forbidden: {
        when: 'The device does not belong to the Login App of the token.',
        example: 'The device does not belong to the Login App of this token.',
      },
      not_found: {
        when: 'The device or the Login User does not exist.',
        example: 'The device does not exist.',
      },
      unprocessable_entity: {
        when: '`device_id` is missing or not a string, the device is disabled, or the person is blocked.',
        example: 'device_id must be a string.',
        field: 'device_id',
      },
    },
    example: { body: { device_id: `d_${'0'.repeat(43)}` } },
  },
});
