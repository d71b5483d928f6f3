import type { Context } from 'aws-lambda';
import { refreshMarked } from '../lib/access-requests/account-lists.ts';
import { accessOf } from '../lib/http/endpoint.ts';
import { withRequest } from '../lib/log/request-fields.ts';

export const access = accessOf({
  summary: 'Lets access requests expire, and brings the lists of accounts up to date',
  table: { access_requests: ['GetItem', 'BatchGetItem', 'Query', 'UpdateItem', 'DeleteItem'] },
  seconds: 60,
});

export const handler = (_: unknown, { awsRequestId }: Pick<Context, 'awsRequestId'>): Promise<void> =>
  withRequest({ request_id: awsRequestId }, refreshMarked);
