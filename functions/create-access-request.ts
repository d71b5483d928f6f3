import {
  createAccessRequestFor,
  newAccessRequestRequest,
} from '../lib/access-requests/create-access-request.ts';
import { account } from '../lib/auth/account.ts';
import { created } from '../lib/http/answers.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { parseBareRequest } from '../lib/http/parsing.ts';
import { refuseAsInvalidRequest } from '../lib/validation.ts';

export const handler = endpoint({
  authenticate: account,
  parse: parseBareRequest,
  input: newAccessRequestRequest,
  refuse: refuseAsInvalidRequest,
  handle: async ({ caller, input }) => created(await createAccessRequestFor(caller.account_id, input)),
});
