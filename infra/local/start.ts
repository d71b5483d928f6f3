import { readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import * as v from 'valibot';
import { tokenAlgorithms } from '../../lib/signing/settings.ts';
import { originSecretHashesSchema } from '../settings/settings.ts';
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

/** The end of an error: what a variable must be, and what it is. */
const instead =
  (must: string) =>
  ({ input }: { input: unknown }): string =>
    `must be ${must}, not ${input}`;

const text = (fits: (text: string) => boolean, must: string) =>
  v.pipe(v.string(), v.check(fits, instead(must)));

const isPort = (text: string): boolean => /^\d{1,5}$/.test(text) && Number(text) <= 65_535;
const isWebAddress = (text: string): boolean =>
  text === '' || /^https?:$/.test(URL.parse(text)?.protocol ?? '');

/** Whether events go nowhere but to the terminal and this machine. */
function isNear(text: string): boolean {
  const { protocol, hostname = '' } = URL.parse(text) ?? {};
  const isLoopback = protocol === 'http:' && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  return text === 'terminal' || isLoopback;
}
const near = 'terminal or an address of this machine such as http://127.0.0.1:9000';

/** Schema of the environment variables that change how `npm start` runs the service. */
const startSettingsSchema = v.object({
  PORT: v.optional(v.pipe(text(isPort, 'a number from 0 to 65535'), v.transform(Number))),
  DYNAMODB_ENDPOINT: v.optional(text(isWebAddress, 'an address such as http://127.0.0.1:8000')),
  EVENTS_TO: v.optional(text(isNear, near)),
  LOCAL_DATA: v.optional(v.string()),
  JOIN: v.optional(v.string()),
  LOGIN_HOOK: v.optional(v.string()),
  LOG_LEVEL: v.optional(v.picklist(['INFO', 'ERROR'], instead('INFO or ERROR'))),
  ORIGIN_SECRET_HASHES: v.optional(originSecretHashesSchema),
  TOKEN_ALGORITHM: v.optional(v.picklist(tokenAlgorithms, instead(tokenAlgorithms.join(' or ')))),
});

/** The environment variables of `npm start`. @throws Error naming the first one that is wrong, and what it must be */
function readStartSettings(): v.InferOutput<typeof startSettingsSchema> {
  const { success, output, issues } = v.safeParse(startSettingsSchema, process.env);
  if (success) return output;
  throw new Error(`${v.getDotPath(issues[0])} ${issues[0].message}.`);
}

/** Reports flags of `npm start`, which has none. npm keeps those that stand before `--` to itself, as variables. */
function reportFlags(): void {
  const names = Object.keys(startSettingsSchema.entries);
  const kept = names.filter((name) => process.env[`npm_config_${name.toLowerCase()}`] !== undefined);
  const flags = kept
    .map((name) => `--${name.toLowerCase().replaceAll('_', '-')}`)
    .concat(process.argv.slice(2));
  const advice = `set ${names.join(', ')} before it, as in PORT=4000 ${startCommand}`;
  if (flags.length > 0)
    process.stderr.write(`Ignored: ${flags.join(' ')}. ${startCommand} has no flags; ${advice}.\n`);
}

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
  reportFlags();
  const { JOIN: directory, PORT, DYNAMODB_ENDPOINT, LOCAL_DATA, EVENTS_TO } = readStartSettings();
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
