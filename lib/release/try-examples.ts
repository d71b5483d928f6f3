import * as v from 'valibot';
import examples from './examples.json' with { type: 'json' };
import type { Probe } from './probe.ts';
import { basic } from './smoke-test.ts';

const requestSchema = v.object({
  status: v.number(),
  routeKey: v.string(),
  headers: v.record(v.string(), v.string()),
  rawQueryString: v.string(),
  queryStringParameters: v.optional(v.record(v.string(), v.string())),
  pathParameters: v.optional(v.record(v.string(), v.string())),
  body: v.optional(v.string()),
  isBase64Encoded: v.boolean(),
});

/** An example request of an endpoint, with the status that it must have. */
export type ExampleRequest = v.InferOutput<typeof requestSchema>;

/**
 * Sends the example request of every endpoint. Those that only read come with the credentials of the probe and of its
 * person; the others are to be rejected, so that they leave nothing.
 * @param accessToken of the person
 */
export async function tryExamples(
  { client, account, accessRequestId }: Probe,
  accessToken: string,
  send: (key: string, request: ExampleRequest) => Promise<unknown>,
): Promise<void> {
  const credentials = new Map([
    [basic({ id: 'CLIENT_ID', secret: 'CLIENT_SECRET' }), basic(client)],
    [basic({ id: 'ACCOUNT_ID', secret: 'ACCOUNT_SECRET' }), basic(account)],
    ['Bearer LOGIN_USER_TOKEN', `Bearer ${accessToken}`],
  ]);
  for (const [key, example] of Object.entries(examples)) {
    const request = v.parse(requestSchema, example);
    const { authorization = '' } = request.headers;
    const real = request.routeKey.startsWith('GET ') ? credentials.get(authorization) : undefined;
    if (real) request.headers.authorization = real;
    const { pathParameters } = request;
    if (pathParameters?.access_request_id) pathParameters.access_request_id = String(accessRequestId);
    await send(key, request);
  }
}
