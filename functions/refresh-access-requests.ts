import type { Context } from 'aws-lambda';
import { refreshMarked } from '../lib/access-requests/refresh-marked.ts';
import { requireEnvironmentInLambda } from '../lib/foundation/environment.ts';
import type { Access } from '../lib/http/endpoint.ts';
import { withRequest } from '../lib/log/request-fields.ts';

/** Rights of the function: access requests, their events and the lists of accounts. */
export const access: Access = {
  summary: 'Lets access requests expire, and brings the lists of accounts up to date',
  table: {
    GetItem: ['access_requests'],
    BatchGetItem: ['access_requests'],
    Query: ['access_requests'],
    UpdateItem: ['access_requests'],
    DeleteItem: ['access_requests'],
  },
  seconds: 60,
};

requireEnvironmentInLambda();

/** @throws Error when the lists of an account could not be refreshed, so that the invocation counts as failed */
export const handler = (_: unknown, { awsRequestId }: Pick<Context, 'awsRequestId'>): Promise<void> =>
  withRequest({ request_id: awsRequestId }, async () => {
    const { failed } = await refreshMarked();
    if (failed > 0) throw new Error(`The lists of ${failed} accounts could not be refreshed.`);
  });
