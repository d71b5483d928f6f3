import type { Context } from 'aws-lambda';
import { accessOf } from '../lib/http/endpoint.ts';
import { withInvocation } from '../lib/log/request-fields.ts';
import { operate } from '../lib/operator/operate.ts';
import type { OperatorAnswer } from '../lib/operator/operator-call.ts';

const everything = [
  'GetItem',
  'BatchGetItem',
  'Query',
  'PutItem',
  'UpdateItem',
  'DeleteItem',
] as const;

/**
 * Rights of the function: everything that commands manage, but not the keys that tokens are
 * verified with.
 */
export const access = accessOf({
  summary: 'Carries out the commands of the operator',
  table: {
    login_apps: everything,
    login_users: everything,
    devices: everything,
    accounts: everything,
    access_requests: everything,
    access_request_lists: everything,
    // An interrupted trial of new versions leaves the keys of a provider.
    probes: ['DeleteItem'],
  },
  secrets: ['provider-settings'],
  callsProviders: true,
  // Up to 10 s for STS, then a batch of lines or of deletions.
  seconds: 30,
});

export const handler = (
  call: unknown,
  context: Pick<Context, 'awsRequestId' | 'invokedFunctionArn'>,
): Promise<OperatorAnswer> =>
  withInvocation(context, () => operate(call, context.invokedFunctionArn));
