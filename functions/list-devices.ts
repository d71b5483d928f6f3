import { loginUserToken } from '../lib/auth/login-user-token.ts';
import { deviceList, listDevices } from '../lib/devices/related-devices.ts';
import { ok } from '../lib/http/answers.ts';
import { defineEndpoint } from '../lib/http/endpoint.ts';
import { serve } from '../lib/http/serve.ts';
import { requireActiveUser } from '../lib/login-users/login-user.ts';

export const endpoint = defineEndpoint({
  method: 'GET',
  path: '/v2/marketing/login/user/push_notifications/devices',
  summary: 'Lists the devices that are related to the Login User',
  authenticate: loginUserToken,
  responses: { 200: { description: 'At most 20 devices, the one seen last first.', body: deviceList } },
  errors: {
    forbidden: 'The person is blocked.',
    not_found: 'The Login User does not exist.',
  },
  tableActions: ['GetItem', 'BatchGetItem', 'Query', 'UpdateItem'],
  secrets: [],
  example: {},
  handle: async ({ caller }) => ok(await listDevices(requireActiveUser(caller))),
});

export const handler = serve(endpoint);
