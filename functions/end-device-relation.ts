import * as v from 'valibot';
import { loginUserToken } from '../lib/auth/login-user-token.ts';
import { endRelation } from '../lib/devices/end-relation.ts';
import { noContent } from '../lib/http/answers.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { parsePathAndQuery } from '../lib/http/parsing.ts';
import { refuseAsInvalidRequest } from '../lib/validation.ts';

export const handler = endpoint({
  authenticate: loginUserToken,
  parse: parsePathAndQuery,
  input: v.object({ device_id: v.string() }),
  refuse: refuseAsInvalidRequest,
  handle: async ({ caller, input }) => {
    await endRelation(caller.loginUserId, input.device_id);
    return noContent();
  },
});
