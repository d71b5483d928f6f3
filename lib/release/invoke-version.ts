import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import * as v from 'valibot';
import { requestTimeouts } from '../foundation/aws-client.ts';
import type { ExampleRequest } from './try-examples.ts';

/** A version has ten seconds for a request, and as many for its start. */
const client = new LambdaClient(requestTimeouts(3, 25_000));

/** A request to a version of a function. The status is 200 unless it must answer with another one. */
interface VersionRequest extends Partial<Omit<ExampleRequest, 'routeKey'>> {
  /** The name of the function, with the version. */
  version: string;
  /** The route as API Gateway writes it. */
  routeKey: string;
}

const answerSchema = v.object({ statusCode: v.number(), body: v.optional(v.string(), 'null') });

/**
 * The JSON body that a version answers with, invoked as API Gateway would: payload format 2.0.
 * @param apiId stands in the place of the API's id
 * @param abortSignal ends the wait for the answer
 * @throws Error that names the route, when the version fails, answers with another status or not at all
 */
export async function invokeVersion(
  { version, routeKey, status = 200, ...request }: VersionRequest,
  apiId: string,
  abortSignal: AbortSignal,
): Promise<unknown> {
  const event = {
    version: '2.0',
    routeKey,
    rawQueryString: '',
    headers: {},
    requestContext: { apiId, requestId: 'check-new-versions', routeKey },
    isBase64Encoded: false,
    ...request,
  };
  const { Payload, FunctionError } = await client
    .send(new InvokeCommand({ FunctionName: version, Payload: JSON.stringify(event) }), { abortSignal })
    .catch((cause) => {
      throw new Error(`The new version for ${routeKey} gives no answer.`, { cause });
    });
  if (FunctionError) throw new Error(`The new version for ${routeKey} does not run: ${FunctionError}.`);
  const { statusCode, body } = v.parse(answerSchema, JSON.parse(Payload?.transformToString() ?? ''));
  if (statusCode !== status)
    throw new Error(`The new version for ${routeKey} answers ${statusCode}, not ${status}.`);
  return JSON.parse(body || 'null');
}
