import { searchEvents } from '../lib/access-requests/search-events.ts';
import { searchRequest } from '../lib/access-requests/search-request.ts';
import { account } from '../lib/auth/account.ts';
import { ok } from '../lib/http/answers.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { parsePathAndQuery } from '../lib/http/parsing.ts';
import { refuseAsInvalidRequest } from '../lib/validation.ts';

export const handler = endpoint({
  authenticate: account,
  parse: parsePathAndQuery,
  input: searchRequest,
  refuse: refuseAsInvalidRequest,
  handle: async ({ caller, input }) =>
    ok(await searchEvents(caller.account_id, { ...input, type: 'review' })),
});
