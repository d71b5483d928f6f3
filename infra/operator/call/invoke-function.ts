import { InvokeCommand, LambdaClient, type LambdaClientConfig } from '@aws-sdk/client-lambda';

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
  const client = lambdaClient({
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

const localClients = new Map<string, LambdaClient>();

/**
 * An SDK client with this configuration. One for this machine is made once: making it takes as long
 * as a call, and a demo is filled with dozens of calls. Others depend on the environment, too.
 */
export function lambdaClient(config: LambdaClientConfig): LambdaClient {
  if (!config.credentials) return new LambdaClient(config);
  const key = JSON.stringify(config);
  const client = localClients.get(key) ?? new LambdaClient(config);
  localClients.set(key, client);
  return client;
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
