import { loginAppToken } from '../lib/auth/login-app-token.ts';
import { registerDevice, registeredDevice, registrationRequest } from '../lib/devices/register-device.ts';
import { created, ok } from '../lib/http/answers.ts';
import { json } from '../lib/http/body.ts';
import { defineEndpoint } from '../lib/http/endpoint.ts';
import { serve } from '../lib/http/serve.ts';
import { refuseFieldsOf } from '../lib/validation.ts';

export const endpoint = defineEndpoint({
  method: 'POST',
  path: '/v2/marketing/push_notifications/devices',
  summary: 'Registers a device for push notifications',
  authenticate: loginAppToken,
  body: json(registrationRequest, refuseFieldsOf('device')),
  responses: {
    201: { description: 'The device was registered for the first time.', body: registeredDevice },
    200: { description: 'The device had been registered before.', body: registeredDevice },
  },
  errors: {
    invalid_request: 'The body is not JSON, or `device` is missing or no JSON object.',
    not_found: 'The Login App has no mobile application for the platform.',
    unprocessable_entity: 'Fields of `device` are invalid.',
  },
  tableActions: ['GetItem', 'Query', 'UpdateItem'],
  secrets: [],
  example: { body: { device: { token: '0'.repeat(64), platform: 'ios' } } },
  handle: async ({ caller, body }) => {
    const { id, outcome } = await registerDevice(caller.loginApp, body.device);
    return outcome === 'created' ? created({ id }) : ok({ id });
  },
});

export const handler = serve(endpoint);
