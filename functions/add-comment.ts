import { addEventFor } from '../lib/access-requests/add-event.ts';
import { commentRequest } from '../lib/access-requests/event-request.ts';
import { account } from '../lib/auth/account.ts';
import { created } from '../lib/http/answers.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { parseJsonRequest } from '../lib/http/parsing.ts';
import { refuseRequestThenFieldsOf } from '../lib/validation.ts';

export const handler = endpoint({
  authenticate: account,
  parse: parseJsonRequest,
  input: commentRequest,
  refuse: refuseRequestThenFieldsOf('body', ''),
  handle: async ({ caller, input }) => created(await addEventFor(caller.account_id, input)),
});
