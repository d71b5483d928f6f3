import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { seedDemo } from './demo.ts';
import type { RequestLine } from './gateway.ts';
import { joinStack } from './join-stack.ts';
import { localFiles } from './local-files.ts';
import { type StackOptions, startStack } from './stack.ts';
import { tryIt } from './try-it.ts';

const print = (line: string) => process.stdout.write(`${line}\n`);

const reportRequest = ({ method, path, status, milliseconds, ...why }: RequestLine): void => {
  const { error, reason } = why;
  const outcome = [error, reason].filter((text) => text !== undefined).join(': ');
  print(`${method} ${path} ${status} ${milliseconds} ms${outcome && ` ${outcome}`}`);
};

/**
 * Starts the service on this machine, fills it with a demo and serves until it is interrupted. With `JOIN`, the
 * folder of a stack that runs, it serves that one's API in a second process, and needs a `LOCAL_DIR` of its own.
 */
async function main(): Promise<void> {
  // The terminal shows a line for each request; POWERTOOLS_LOG_LEVEL=INFO shows each decision too.
  process.env.POWERTOOLS_LOG_LEVEL ??= 'WARN';
  const { JOIN: directory, PORT, DYNAMODB_ENDPOINT } = process.env;
  const options = { port: portFrom(PORT), report: reportRequest };
  const { demo, awsEndpoint, close } = directory
    ? await joinStack({ ...options, directory })
    : await startDemo({ ...options, dynamoDbEndpoint: DYNAMODB_ENDPOINT });
  const files = localFiles();
  let stopping = false;
  const stop = () => {
    if (stopping) return;
    stopping = true;
    for (const file of [files.demo, files.stack]) rmSync(file, { force: true });
    close().then(() => process.exit(0), fail);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);

  mkdirSync(files.directory, { recursive: true });
  writeFileSync(files.stack, `${JSON.stringify({ aws_endpoint: awsEndpoint })}\n`);
  writeFileSync(files.demo, `${JSON.stringify(demo, null, 2)}\n`);

  print(`The login service runs at ${demo.base_url}, its providers at ${demo.sandbox_url}.`);
  const told = relative('', files.demo);
  print(`Its ids and secrets are in ${told}. Ctrl-C ends it. Paste this into another shell:\n`);
  print(tryIt(demo));
}

async function startDemo(options: StackOptions) {
  const stack = await startStack(options);
  return { ...stack, demo: await seedDemo(stack) };
}

function portFrom(text = '3000'): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535)
    throw new Error(`PORT must be a number from 0 to 65535, not ${text}.`);
  return port;
}

function fail(error: unknown): void {
  const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
  const why = taken
    ? `Port ${process.env.PORT ?? '3000'} is taken. PORT=0 npm start takes a free one.`
    : String(error instanceof Error ? error.message : error);
  process.stderr.write(`${why}\n`);
  process.exit(1);
}

main().catch(fail);
