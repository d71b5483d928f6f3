import * as v from 'valibot';
import { loginUserToken } from '../lib/auth/login-user-token.ts';
import { endRelation } from '../lib/devices/end-relation.ts';
import { noContent } from '../lib/http/answers.ts';
import { defineEndpoint } from '../lib/http/endpoint.ts';
import { serve } from '../lib/http/serve.ts';
import { requireActiveUser } from '../lib/login-users/login-user.ts';

export const endpoint = defineEndpoint({
  method: 'DELETE',
  path: '/v2/marketing/login/user/push_notifications/devices/{device_id}',
  summary: 'Ends the relation of a device to the Login User',
  authenticate: loginUserToken,
  parameters: { path: { device_id: v.string() } },
  responses: { 204: { description: 'The device is no longer related to the person.' } },
  errors: {
    forbidden: 'The person is blocked.',
    not_found: 'The person has no such device, or does not exist.',
  },
  tableActions: ['GetItem', 'BatchGetItem', 'UpdateItem'],
  secrets: [],
  example: { path: { device_id: `d_${'A'.repeat(43)}` } },
  handle: async ({ caller, path }) => {
    await endRelation(requireActiveUser(caller), path.device_id);
    return noContent();
  },
});

export const handler = serve(endpoint);
