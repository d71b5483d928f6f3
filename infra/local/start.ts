import { readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { startCommand } from '../version.ts';
import type { Bus } from './aws.ts';
import { type Demo, reviveDemo, seedDemo, tryIt } from './demo.ts';
import { docsRoutes } from './docs-page.ts';
import { startDynamoDbLocal } from './dynamodb-local/start-dynamodb-local.ts';
import { forwardEvents } from './forward-events.ts';
import { gateway, type RequestLine, type Route } from './gateway.ts';
import { loadRoutes, setEnvironment } from './load-functions.ts';
import { openLocalData, savedPort } from './local-data.ts';
import {
  filesIn,
  localFiles,
  readStackFile,
  removeLocalFiles,
  runningStack,
  writeAuditLinesTo,
  writeLocalFiles,
} from './local-files.ts';
import { serve } from './loopback-server.ts';
import { type StackOptions, startStack } from './stack.ts';
import { flagsWithoutEffect, readStartSettings } from './start-settings.ts';

const print = (line: string) => process.stdout.write(`${line}\n`);

const reportRequest = ({ method, path, status, milliseconds, error, reason, ignored }: RequestLine): void => {
  const outcome = [error, reason].filter((text) => text !== undefined).join(': ');
  const without = ignored.length > 0 ? ` (ignored: ${ignored.join(', ')})` : '';
  print(`${method} ${path} ${status} ${milliseconds} ms${outcome && ` ${outcome}`}${without}`);
};

/**
 * Starts the service on this machine, fills it with a demo and serves until it is interrupted. `JOIN` names the
 * `LOCAL_DIR` of a running stack: then it serves the API of that stack in a second process, with a `LOCAL_DIR` of its own.
 */
async function main(): Promise<void> {
  const flags = flagsWithoutEffect(process.argv.slice(2), process.env);
  if (flags !== undefined) process.stderr.write(`${flags}\n`);
  const { JOIN: directory, PORT, DYNAMODB_ENDPOINT, LOCAL_DATA, EVENTS_TO } = readStartSettings(process.env);
  // One line per request; LOG_LEVEL=INFO shows the whole log.
  process.env.LOG_LEVEL ??= 'ERROR';
  if (LOCAL_DATA && (directory || DYNAMODB_ENDPOINT || EVENTS_TO))
    throw new Error(
      'LOCAL_DATA keeps the data of the embedded store. Leave out JOIN, DYNAMODB_ENDPOINT and EVENTS_TO.',
    );
  if (directory && EVENTS_TO)
    throw new Error('The stack that JOIN names publishes the events. Start that one with EVENTS_TO.');
  const files = localFiles();
  const other = await runningStack(files);
  if (other) {
    throw new Error(
      `A stack already runs at ${other.url} (process ${other.pid}). Stop it first, or start another with PORT=0 LOCAL_DIR=FOLDER ${startCommand}.`,
    );
  }
  writeAuditLinesTo(files);
  const data = LOCAL_DATA ? openLocalData(resolve(LOCAL_DATA)) : undefined;
  const port = savedPort(data?.saved, PORT) ?? 3000;
  const consumer =
    EVENTS_TO && EVENTS_TO !== 'terminal' ? forwardEvents(EVENTS_TO, { say: print }) : undefined;
  const bus: Bus = {
    takeEvent: (event) => {
      print(`event ${JSON.stringify(event)}`);
      consumer?.forward(event);
    },
    takeDeadLetter: (message) => print(`dead letter ${message}`),
  };
  const startStore = EVENTS_TO ? () => startDynamoDbLocal(print) : undefined;
  const options = { port, report: reportRequest, bus, startStore };
  const stack = directory
    ? await joinStack(directory, options)
    : await startDemo({ ...options, data, dynamoDbEndpoint: DYNAMODB_ENDPOINT || undefined });
  const { demo, routes, awsEndpoint, close } = stack;
  routes.push(...docsRoutes(demo));
  let stopping = false;
  const stop = () => {
    if (stopping) return;
    stopping = true;
    removeLocalFiles(files);
    close()
      .finally(() => consumer?.close())
      .then(() => process.exit(0), fail);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);

  writeLocalFiles(files, { url: demo.base_url, aws_endpoint: awsEndpoint }, demo);
  print(`The login service runs at ${demo.base_url}, its providers at ${demo.sandbox_url}.`);
  print(`Read about its API and try it out at ${demo.base_url}/docs.`);
  if ('publishes' in stack)
    print(stack.publishes ? 'It publishes events, each of which is printed here.' : noEvents);
  const demoFile = relative('', files.demo);
  print(`Its ids and secrets are in ${demoFile}. Ctrl-C stops it. Paste this into another shell:\n`);
  print(tryIt(demo));
}

const noEvents = `It publishes no events, since its store has no streams. EVENTS_TO=terminal ${startCommand} takes one that has (see docs/events.md).`;

async function startDemo(options: StackOptions) {
  const { data } = options;
  const stack = await startStack(options).catch((error: unknown) => {
    throw data?.saved && isTakenPort(error) ? new Error(neededPort(error.port)) : error;
  });
  const demo = data?.saved ? await reviveDemo(stack, data.saved.demo) : await seedDemo(stack);
  const { url, tableName: table_name, sandbox } = stack;
  const save = (stopped: boolean) => data?.save({ url, sandbox_url: sandbox.url, table_name, stopped, demo });
  save(false);
  const close = async () => {
    await stack.close();
    save(true);
  };
  return { ...stack, demo, close };
}

/**
 * Serves the API of a running stack in a second process, with that stack's table, secrets, sandbox, demo and issuer. A
 * deployment has many such processes.
 * @param directory the `LOCAL_DIR` of the other stack
 */
async function joinStack(directory: string, { port, report }: StackOptions) {
  const files = filesIn(directory);
  const demo: Demo = JSON.parse(readFileSync(files.demo, 'utf8'));
  const { aws_endpoint: awsEndpoint } = readStackFile(files);
  const routes: Route[] = [];
  const api = await serve(gateway(routes, report), port);
  setEnvironment({
    issuer: demo.base_url,
    tableName: demo.table_name,
    dynamoDbEndpoint: demo.dynamodb_endpoint,
    awsEndpoint,
  });
  await loadRoutes(routes);
  return { demo: { ...demo, base_url: api.url }, routes, awsEndpoint, close: api.close };
}

const neededPort = (port: number): string =>
  `Port ${port} is taken. The data in LOCAL_DATA belong to it: stop the stack that uses them, or whatever else listens there.`;

const isTakenPort = (error: unknown): error is Error & { port: number } =>
  error instanceof Error && 'code' in error && error.code === 'EADDRINUSE' && 'port' in error;

function fail(error: unknown): void {
  const why = isTakenPort(error)
    ? `Port ${error.port} is taken. PORT=0 ${startCommand} takes a free one.`
    : String(error instanceof Error ? error.message : error);
  process.stderr.write(`${why}\n`);
  process.exit(1);
}

main().catch(fail);
