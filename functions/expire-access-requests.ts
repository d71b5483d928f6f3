import { settleExpired } from '../lib/access-requests/store-decision.ts';
import { accessOf } from '../lib/http/endpoint.ts';
import { type Invocation, withInvocation } from '../lib/log/request-fields.ts';

export const access = accessOf({
  summary: 'Stores that access requests have expired',
  table: {
    access_requests: ['BatchGetItem', 'Query', 'UpdateItem'],
    access_request_lists: ['GetItem', 'PutItem'],
  },
  seconds: 60,
});

export const handler = (_: unknown, invocation: Invocation): Promise<void> =>
  withInvocation(invocation, settleExpired);
