import { type InvocationType, requestSigner } from '../foundation/aws-signature.ts';
import { optionalEnvironment } from '../foundation/environment.ts';
import { readText } from '../providers/calls/answer-body.ts';
import { responseTo } from '../providers/calls/call-provider.ts';
import { documentClient } from '../storage/client.ts';

let sign: ReturnType<typeof requestSigner> | undefined;

/**
 * Invokes the login hook once, since it may have effects: on a connection of its own, which can't
 * have died while Lambda had frozen the instance. The SDK's client would enlarge the bundle by
 * half.
 * @param functionName the name or ARN of a Lambda function or alias
 * @param seconds the most to wait for an answer
 * @returns the answer of Lambda; `fault` is that of the function itself, `refusal` that of Lambda
 * @throws Error when there is no answer
 * @see AWS Lambda API reference, `Invoke`
 */
export async function invokeOnce(
  functionName: string,
  payload: object,
  seconds: number,
  invocationType?: InvocationType,
) {
  const { url, headers } = await signedCall(functionName, payload, invocationType);
  const signal = AbortSignal.timeout(seconds * 1000);
  try {
    const response = await responseTo({ url, headers, json: payload, signal });
    const text = await readText(response);
    const fault = response.headers['x-amz-function-error'];
    const refusal = response.headers['x-amzn-errortype'];
    return { text, status: response.statusCode, fault, refusal };
  } catch (cause) {
    if (signal.aborted)
      throw new Error(`The login hook did not answer within ${seconds} s.`, { cause });
    throw new Error('The login hook failed: there was no answer from Lambda.', { cause });
  }
}

/** The address and the signed headers of an invocation, by the credentials of the store's client. */
async function signedCall(
  functionName: string,
  payload: object,
  invocationType: InvocationType | undefined,
) {
  const { config } = documentClient;
  const region = await config.region();
  const endpoint =
    optionalEnvironment('AWS_ENDPOINT_URL_LAMBDA') ?? `https://lambda.${region}.amazonaws.com`;
  const { origin, host } = new URL(endpoint);
  const path = `/2015-03-31/functions/${encodeURIComponent(functionName)}/invocations`;
  const body = JSON.stringify(payload);
  const time = new Date(Date.now() + config.systemClockOffset);
  sign ??= requestSigner(region, 'lambda');
  const request = { host, path, contentType: 'application/json', body, time, invocationType };
  const headers = sign(request, await config.credentials());
  return { url: `${origin}${path}`, headers };
}
