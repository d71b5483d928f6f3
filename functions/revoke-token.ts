import { loginAppClient } from '../lib/auth/login-app-client.ts';
import { ok } from '../lib/http/answers.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { parseForm } from '../lib/http/parsing.ts';
import { tokenParameter } from '../lib/tokens/presented-token.ts';
import { revokeToken } from '../lib/tokens/revoke-token.ts';
import { refuseAsInvalidRequest } from '../lib/validation.ts';

export const handler = endpoint({
  authenticate: loginAppClient,
  parse: parseForm,
  input: tokenParameter,
  refuse: refuseAsInvalidRequest,
  handle: async ({ caller, input }) => {
    await revokeToken(caller, input.token);
    return ok({});
  },
});
