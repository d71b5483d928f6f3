import * as v from 'valibot';
import { loginUserToken } from '../lib/auth/login-user-token.ts';
import { endRelation } from '../lib/devices/end-relation.ts';
import { noContent } from '../lib/http/answers.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { parsePathAndQuery } from '../lib/http/parsing.ts';
import { requireActiveUser } from '../lib/login-users/login-user.ts';
import { refuseAsInvalidRequest } from '../lib/validation.ts';

export const handler = endpoint({
  authenticate: loginUserToken,
  parse: parsePathAndQuery,
  input: v.object({ device_id: v.string() }),
  refuse: refuseAsInvalidRequest,
  handle: async ({ caller, input }) => {
    await endRelation(requireActiveUser(caller), input.device_id);
    return noContent();
  },
});
