import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';

/** A deployed function, or one of the stack on this machine. */
export interface FunctionTarget {
  name: string;
  /** Set for the stack on this machine. */
  endpoint?: string | undefined;
}

/** Invokes a function and returns its result. @throws Error when it fails or cannot be invoked */
export async function invokeFunction({ name, endpoint }: FunctionTarget, event: unknown): Promise<unknown> {
  const client = new LambdaClient(
    endpoint
      ? { endpoint, region: 'us-east-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } }
      : {},
  );
  try {
    const { Payload, FunctionError } = await client.send(
      new InvokeCommand({ FunctionName: name, Payload: JSON.stringify(event) }),
    );
    const text = Payload?.transformToString() ?? '';
    if (FunctionError) throw new Error(`The function ${name} failed: ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  } finally {
    client.destroy();
  }
}
