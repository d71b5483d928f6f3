import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';

/**
 * The address at which Lambda's Invoke, Secrets Manager, EventBridge, SQS and STS answer on this
 * machine.
 */
export interface AwsEndpoint {
  url: string;
  /** The secret of its access keys, whose ids are free to choose. */
  secret_access_key: string;
}

/** A deployed function, or one of the stack on this machine. */
export interface FunctionTarget {
  name: string;
  /** Set for the stack on this machine. */
  endpoint?: AwsEndpoint | undefined;
}

/**
 * Milliseconds until a function must have answered; none that is invoked here may run for longer.
 */
const requestTimeout = 60_000;

/**
 * Invokes a function and returns its result.
 * @param attempts at most
 * @throws Error when it fails or cannot be invoked
 */
export async function invokeFunction(
  target: FunctionTarget,
  event: unknown,
  attempts = 3,
): Promise<unknown> {
  const { name, endpoint } = target;
  const client = new LambdaClient({
    maxAttempts: attempts,
    requestHandler: { requestTimeout, throwOnRequestTimeout: true },
    ...(endpoint && localAws(endpoint)),
  });
  const { Payload, FunctionError } = await client.send(
    new InvokeCommand({ FunctionName: name, Payload: JSON.stringify(event) }),
  );
  const text = Payload?.transformToString() ?? '';
  if (FunctionError) throw new Error(`The function ${name} failed: ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}

/**
 * The configuration of an SDK client for such an address.
 * @param accessKeyId the name by which STS knows the caller
 */
export const localAws = ({ url, secret_access_key }: AwsEndpoint, accessKeyId = 'local') => ({
  endpoint: url,
  region: 'us-east-1',
  credentials: { accessKeyId, secretAccessKey: secret_access_key },
});
