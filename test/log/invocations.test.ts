import { afterEach, expect, jest, test } from '@jest/globals';
import { handler } from '../../functions/issue-nonce.ts';
import { logEvent } from '../../lib/log/log.ts';
import { withInvocation } from '../../lib/log/request-fields.ts';

const trace_id = '1-5759e988-bd862e3fe1be46a994272793';
const invocation = { awsRequestId: '7f0c4a6e-1c1e-4b7a-9d6f-3f2b8f1f2c77' };
const lambda_request_id = invocation.awsRequestId;

afterEach(() => {
  delete process.env._X_AMZN_TRACE_ID;
});

/** The one line that an action writes, in an invocation with such a trace. */
async function lineOf(trace: string | undefined, action: () => unknown): Promise<unknown> {
  if (trace !== undefined) process.env._X_AMZN_TRACE_ID = trace;
  const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    await action();
    expect(write).toHaveBeenCalledTimes(1);
    return JSON.parse(String(write.mock.calls[0]?.[0]));
  } finally {
    write.mockRestore();
  }
}

/** Sends a request without credentials. */
const refuse = () =>
  Reflect.apply(handler, undefined, [
    {
      version: '2.0',
      routeKey: 'POST /v2/marketing/oauth/nonce',
      rawQueryString: '',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      requestContext: { requestId: 'UbR0vhfEjoEEMaA=', routeKey: 'POST /v2/marketing/oauth/nonce' },
    },
    invocation,
  ]);

test('a line of a request has its own id, that of the invocation, and the trace', async () => {
  const line = await lineOf(`Root=${trace_id};Parent=53995c3f42cd8ad8;Sampled=0`, refuse);
  expect(line).toMatchObject({
    event: 'request_refused',
    request_id: 'UbR0vhfEjoEEMaA=',
    lambda_request_id,
    trace_id,
  });
});

test('a line of a function without a route has the same ids; its request is the invocation', async () => {
  const line = await lineOf(`Root=${trace_id}`, () =>
    withInvocation(invocation, () => logEvent('events_published', { count: 1 })),
  );
  expect(line).toMatchObject({ request_id: lambda_request_id, lambda_request_id, trace_id });
});

test.each([undefined, '', 'Sampled=1', 'Root=of another form;Sampled=1'])(
  'with the trace %p of Lambda, a line has none',
  async (trace) => {
    const line = await lineOf(trace, refuse);
    expect(line).toMatchObject({ lambda_request_id });
    expect(line).not.toHaveProperty('trace_id');
  },
);
