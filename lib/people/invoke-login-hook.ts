import { optionalEnvironment } from '../foundation/environment.ts';
import { documentClient } from '../storage/client.ts';
import { requestSigner } from '../storage/signature.ts';

let sign: ReturnType<typeof requestSigner> | undefined;

/**
 * The JSON that a Lambda function answers with. It is invoked once: another attempt might do twice what it does. The client
 * of the SDK would make the bundle half as large again, for one request.
 * @throws Error when it fails, or answers too late or with no JSON
 * @see AWS Lambda API reference, Invoke
 */
export async function invoke(name: string, event: object, milliseconds: number): Promise<unknown> {
  const { config } = documentClient;
  const region = await config.region();
  const address = optionalEnvironment('AWS_ENDPOINT_URL_LAMBDA') ?? `https://lambda.${region}.amazonaws.com`;
  const { origin, host } = new URL(address);
  const path = `/2015-03-31/functions/${encodeURIComponent(name)}/invocations`;
  const body = JSON.stringify(event);
  const time = new Date(Date.now() + config.systemClockOffset);
  sign ??= requestSigner(region, 'lambda');
  const headers = sign(
    { host, path, contentType: 'application/json', body, time },
    await config.credentials(),
  );
  const signal = AbortSignal.timeout(milliseconds);
  const response = await fetch(`${origin}${path}`, { method: 'POST', headers, body, signal });
  const fault = response.headers.get('x-amz-function-error') ?? (response.ok ? undefined : response.status);
  if (fault !== undefined) throw new Error(`The login hook failed: ${fault}.`);
  return response.json();
}
