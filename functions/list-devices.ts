import * as v from 'valibot';
import { loginUserToken } from '../lib/auth/login-user-token.ts';
import { listDevices } from '../lib/devices/related-devices.ts';
import { ok } from '../lib/http/answers.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { parsePathAndQuery } from '../lib/http/parsing.ts';
import { requireActiveUser } from '../lib/login-users/login-user.ts';
import { refuseAsInvalidRequest } from '../lib/validation.ts';

export const handler = endpoint({
  authenticate: loginUserToken,
  parse: parsePathAndQuery,
  input: v.object({}),
  refuse: refuseAsInvalidRequest,
  handle: async ({ caller }) => ok(await listDevices(requireActiveUser(caller))),
});
