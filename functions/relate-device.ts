import { loginUserToken } from '../lib/auth/login-user-token.ts';
import { registeredDevice } from '../lib/devices/register-device.ts';
import { relateDevice, relationRequest } from '../lib/devices/relate-device.ts';
import { ok } from '../lib/http/answers.ts';
import { json } from '../lib/http/body.ts';
import { defineEndpoint } from '../lib/http/endpoint.ts';
import { serve } from '../lib/http/serve.ts';
import { refuseAsUnprocessable } from '../lib/validation.ts';

export const endpoint = defineEndpoint({
  method: 'POST',
  path: '/v2/marketing/login/user/push_notifications/devices',
  summary: 'Relates a registered device to the Login User',
  authenticate: loginUserToken,
  body: json(relationRequest, refuseAsUnprocessable),
  responses: { 200: { description: 'The device now belongs to the person.', body: registeredDevice } },
  errors: {
    forbidden: 'The device does not belong to the Login App of the token.',
    not_found: 'The device or the Login User does not exist.',
    unprocessable_entity:
      '`device_id` is missing or not a string, the device is disabled, or the person is blocked.',
  },
  tableActions: ['GetItem', 'BatchGetItem', 'Query', 'UpdateItem'],
  secrets: [],
  example: { body: { device_id: `d_${'0'.repeat(43)}` } },
  handle: async ({ caller, body }) => {
    await relateDevice(caller, body.device_id);
    return ok({ id: body.device_id });
  },
});

export const handler = serve(endpoint);
