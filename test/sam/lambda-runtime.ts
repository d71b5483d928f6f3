import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, cpSync, openSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { dirname } from 'node:path';
import { readBody, serve } from '../../infra/local/loopback-server.ts';
import type { SynthesizedFunction } from './synthesized-functions.ts';

/** A function in an execution environment of its own, as Lambda has it. */
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

interface Invocation {
  id: string;
  event: unknown;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

const runtimePath =
  /^\/2018-06-01\/runtime\/(?:invocation\/(?:(next)|([^/]+)\/(response|error))|(init)\/error)$/;

/**
 * Serves the Lambda Runtime API on a loopback port, to a runtime interface client that has loaded the function.
 * @see AWS Lambda developer guide, "Using the Lambda runtime API for custom runtimes"
 */
export async function startLambdaRuntime(
  { code, handler, timeoutSeconds, memoryMegabytes }: SynthesizedFunction,
  { taskRoot, client, name, environment, logFile }: RuntimeOptions,
): Promise<LambdaRuntime> {
  const queued: Invocation[] = [];
  const running = new Map<string, Invocation>();
  let idle: ServerResponse | undefined;
  let ended: Error | undefined;

  const handOut = (): void => {
    if (!idle) return;
    const invocation = queued.shift();
    if (!invocation) return;
    running.set(invocation.id, invocation);
    idle.writeHead(200, {
      'content-type': 'application/json',
      'lambda-runtime-aws-request-id': invocation.id,
      'lambda-runtime-deadline-ms': String(Date.now() + timeoutSeconds * 1000),
      'lambda-runtime-invoked-function-arn': `arn:aws:lambda:us-east-1:000000000000:function:${name}`,
    });
    idle.end(JSON.stringify(invocation.event));
    idle = undefined;
  };
  const failAll = (error: Error): void => {
    ended = error;
    for (const { reject } of [...queued.splice(0), ...running.values()]) reject(error);
    running.clear();
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [, next, id = '', outcome, init] = request.url?.match(runtimePath) ?? [];
    if (next) {
      idle = response;
      return handOut();
    }
    const body = (await readBody(request)).toString();
    const invocation = running.get(id);
    running.delete(id);
    if (init) failAll(new Error(`The function can't be loaded: ${body}`));
    else if (outcome === 'response') invocation?.resolve(body === '' ? undefined : JSON.parse(body));
    else invocation?.reject(new Error(`The function failed: ${body}`));
    response.writeHead(202, { 'content-type': 'application/json' }).end('{"status":"OK"}');
  };

  const server = await serve((request, response) => void answer(request, response));
  cpSync(code, taskRoot, { recursive: true });
  const log = openSync(logFile, 'w');
  const child: ChildProcess = spawn(process.execPath, [client, handler], {
    cwd: taskRoot,
    stdio: ['ignore', log, log],
    // Nothing of this machine's own environment: what the function needs must be in the template.
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
      ...environment,
    },
  });
  closeSync(log);
  child.on('exit', (status, signal) => failAll(new Error(`The runtime ended: ${status ?? signal}`)));

  return {
    invoke: (event) =>
      new Promise((resolve, reject) => {
        if (ended) return reject(ended);
        const invocation = { id: randomUUID(), event, resolve, reject };
        const timer = setTimeout(() => {
          running.delete(invocation.id);
          reject(new Error(`The function timed out after ${timeoutSeconds} s.`));
        }, timeoutSeconds * 1000);
        invocation.resolve = (result) => {
          clearTimeout(timer);
          resolve(result);
        };
        queued.push(invocation);
        handOut();
      }),
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      await server.close();
    },
  };
}
