import { loginUserToken } from '../lib/auth/login-user-token.ts';
import { relateDevice, relationRequest } from '../lib/devices/relate-device.ts';
import { ok } from '../lib/http/answers.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { parseJson } from '../lib/http/parsing.ts';
import { refuseAsUnprocessable } from '../lib/validation.ts';

export const handler = endpoint({
  authenticate: loginUserToken,
  parse: parseJson,
  input: relationRequest,
  refuse: refuseAsUnprocessable,
  handle: async ({ caller, input }) => {
    await relateDevice(caller, input.device_id);
    return ok({ id: input.device_id });
  },
});
