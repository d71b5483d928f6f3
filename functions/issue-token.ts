import { loginAppClient } from '../lib/auth/login-app-client.ts';
import { ok } from '../lib/http/answers.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { parseForm } from '../lib/http/parsing.ts';
import { issueToken, tokenRequest } from '../lib/tokens/issue-token.ts';
import { refuseAsInvalidRequest } from '../lib/validation.ts';

export const handler = endpoint({
  authenticate: loginAppClient,
  parse: parseForm,
  input: tokenRequest,
  refuse: refuseAsInvalidRequest,
  handle: async ({ caller, input }) => ok(await issueToken(caller, input)),
});
