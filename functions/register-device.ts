import { loginAppToken } from '../lib/auth/login-app-token.ts';
import { registerDevice, registrationRequest } from '../lib/devices/register-device.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { parseJson } from '../lib/http/parsing.ts';
import { refuseRequestThenFieldsOf } from '../lib/validation.ts';

const statuses = { created: 201, known: 200 };

export const handler = endpoint({
  authenticate: loginAppToken,
  parse: parseJson,
  input: registrationRequest,
  refuse: refuseRequestThenFieldsOf('device'),
  handle: async ({ caller, input }) => {
    const { id, outcome } = await registerDevice(caller.loginApp, input.device);
    return { status: statuses[outcome], body: { id } };
  },
});
