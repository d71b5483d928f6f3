import { loginUserToken } from '../lib/auth/login-user-token.ts';
import { listDevices } from '../lib/devices/related-devices.ts';
import { ok } from '../lib/http/answers.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { noInput } from '../lib/http/no-input.ts';
import { requireActiveUser } from '../lib/login-users/login-user.ts';

export const handler = endpoint({
  authenticate: loginUserToken,
  ...noInput,
  handle: async ({ caller }) => ok(await listDevices(requireActiveUser(caller))),
});
