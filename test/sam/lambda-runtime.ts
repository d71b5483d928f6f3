import { randomUUID } from 'node:crypto';
import { cpSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { dirname } from 'node:path';
import { execa } from 'execa';
import { readBody, serve } from '../../infra/local/loopback-server.ts';
import type { SynthesizedFunction } from './synthesized-functions.ts';

/** A function in an execution environment of its own, as Lambda has it: for one event at a time. */
export interface LambdaRuntime extends AsyncDisposable {
  /** What the handler returns. @throws Error with what it threw, or when it took longer than its time-out */
  invoke(event: unknown): Promise<unknown>;
}

interface RuntimeOptions {
  /** Where the code is unpacked: outside of the project, whose packages and package.json it is not to find. */
  taskRoot: string;
  /** The runtime interface client. */
  client: string;
  name: string;
  environment: Record<string, string>;
  logFile: string;
}

/**
 * Serves the Lambda Runtime API on a loopback port, to a runtime interface client that has loaded the function.
 * @see AWS Lambda developer guide, "Using the Lambda runtime API for custom runtimes"
 */
export async function startLambdaRuntime(
  { code, handler, timeoutSeconds, memoryMegabytes }: SynthesizedFunction,
  { taskRoot, client, name, environment, logFile }: RuntimeOptions,
): Promise<LambdaRuntime> {
  /** The client's request for its next event, and what comes of that event. */
  let next = Promise.withResolvers<ServerResponse>();
  let result = Promise.withResolvers<unknown>();

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.url?.endsWith('/invocation/next')) return next.resolve(response);
    const body = (await readBody(request)).toString();
    if (request.url?.endsWith('/response')) result.resolve(body === '' ? undefined : JSON.parse(body));
    else if (request.url?.endsWith('/init/error')) next.reject(new Error(`It can't be loaded: ${body}`));
    else result.reject(new Error(`The function failed: ${body}`));
    response.writeHead(202, { 'content-type': 'application/json' }).end('{"status":"OK"}');
  };
  const server = await serve((request, response) => void answer(request, response));
  cpSync(code, taskRoot, { recursive: true });
  const child = execa(process.execPath, [client, handler], {
    cwd: taskRoot,
    stdin: 'ignore',
    stdout: { file: logFile },
    stderr: { file: logFile },
    reject: false,
    killSignal: 'SIGKILL',
    // Nothing of this machine's own environment: what the function needs must be in the template.
    extendEnv: false,
    env: {
      PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
      LANG: 'en_US.UTF-8',
      TZ: ':UTC',
      LAMBDA_TASK_ROOT: taskRoot,
      LAMBDA_RUNTIME_DIR: '/var/runtime',
      _HANDLER: handler,
      AWS_LAMBDA_RUNTIME_API: new URL(server.url).host,
      AWS_LAMBDA_FUNCTION_NAME: name,
      AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryMegabytes),
      AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${name}`,
      AWS_LAMBDA_LOG_STREAM_NAME: 'local',
      AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'local',
      AWS_SECRET_ACCESS_KEY: 'local',
      AWS_CALL_MILLISECONDS: '10000',
      ...environment,
    },
  });
  const endOf = async (): Promise<never> => {
    const { originalMessage, exitCode } = await child;
    throw new Error(`The runtime ended: ${originalMessage ?? exitCode}`);
  };

  return {
    invoke: async (event) => {
      const response = await Promise.race([next.promise, endOf()]);
      next = Promise.withResolvers();
      result = Promise.withResolvers();
      const milliseconds = timeoutSeconds * 1000;
      response.writeHead(200, {
        'content-type': 'application/json',
        'lambda-runtime-aws-request-id': randomUUID(),
        'lambda-runtime-deadline-ms': String(Date.now() + milliseconds),
        'lambda-runtime-invoked-function-arn': `arn:aws:lambda:us-east-1:000000000000:function:${name}`,
      });
      response.end(JSON.stringify(event));
      // Lambda ends a function that takes too long.
      const tooLong = new Error(`It took longer than ${timeoutSeconds} s.`);
      const timer = setTimeout(() => child.kill(tooLong), milliseconds);
      return Promise.race([result.promise, endOf()]).finally(() => clearTimeout(timer));
    },
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await child;
      await server.close();
    },
  };
}
