import { readFileSync, rmSync } from 'node:fs';
import { ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { fromCaller } from '../operator/files/caller-folder.ts';
import { startCommand } from '../version.ts';
import type { Bus, Envelope } from './aws.ts';
import type { Demo } from './demo.ts';
import { docsRoutes } from './docs-page.ts';
import { localDynamoDb } from './dynamodb.ts';
import { forwardEvents } from './forward-events.ts';
import { gateway, type Route } from './gateway.ts';
import { loadRoutes, setEnvironment } from './load-functions.ts';
import { type LocalData, openLocalData, portOf } from './local-data.ts';
import * as local from './local-files.ts';
import { type ListenOptions, loopback, serve } from './loopback-server.ts';
import { type StackOptions, startStack } from './stack.ts';
import { addressOf, readStartSettings, startVariables } from './start-settings.ts';
import { tryIt } from './try-it.ts';

const print = (line: string) => process.stdout.write(`${line}\n`);

/**
 * Serves the service with a demo until it is interrupted; if `JOIN` is set, the API of that stack
 * in a second process.
 */
async function main(): Promise<void> {
  reportFlags();
  const {
    HOST = loopback,
    JOIN,
    PORT,
    DYNAMODB_ENDPOINT,
    LOCAL_DATA,
    EVENTS_TO,
  } = readStartSettings(process.env);
  process.env.LOG_LEVEL ??= 'ERROR';
  refuseContradictions({ JOIN, DYNAMODB_ENDPOINT, LOCAL_DATA, EVENTS_TO });
  const files = local.localFiles();
  const other = await local.runningStack(files);
  if (other)
    throw new Error(
      `A stack already runs at ${other.url} (process ${other.pid}). Stop it first, or start another with PORT=0 LOCAL_DIR=FOLDER ${startCommand}.`,
    );
  local.requireFolder(files);
  local.writeAuditLinesTo(files);
  const data = LOCAL_DATA ? await openLocalData(fromCaller(LOCAL_DATA)) : undefined;
  const knownAs = addressOf(HOST);
  const port = portFor(data, { PORT, knownAs });
  const consumer =
    EVENTS_TO && EVENTS_TO !== 'terminal' ? forwardEvents(EVENTS_TO, print) : undefined;
  const bus: Bus = {
    takeEvent: (event) => {
      print(EVENTS_TO ? `event ${JSON.stringify(event)}` : shortLine(event));
      consumer?.forward(event);
    },
    takeDeadLetter: (message) => print(`dead letter ${message}`),
  };
  const options: StackOptions = {
    port,
    host: HOST,
    knownAs,
    print,
    data,
    otherStore: DYNAMODB_ENDPOINT ? await useDynamoDb(DYNAMODB_ENDPOINT) : undefined,
    bus: DYNAMODB_ENDPOINT ? undefined : bus,
    isDemoPublished: EVENTS_TO !== undefined,
  };
  const stack = JOIN
    ? await joinStack(fromCaller(JOIN), port, { host: HOST, print })
    : await startStack(options).catch((error) => {
        throw data?.saved && isTakenPort(error) ? new Error(neededPort(error.port)) : error;
      });
  const { demo, routes, awsEndpoint, close } = stack;
  // It reads the records of the functions, which are loaded with the environment of the stack.
  const { openSamFolder } = await import('./sam/sam-folder.ts');
  const sam = JOIN ? undefined : await openSamFolder(files.directory, stack);
  routes.push(...docsRoutes(demo));
  let stopping = false;
  const stop = () => {
    if (stopping) return;
    stopping = true;
    for (const file of [files.demo, files.stack]) rmSync(file, { force: true });
    sam?.close();
    close()
      .finally(() => consumer?.close())
      .then(() => process.exit(0), fail);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);

  local.writeLocalFiles(files, { url: demo.base_url, aws_endpoint: awsEndpoint }, demo);
  print(`The login service runs at ${demo.base_url}, its providers at ${demo.sandbox_url}.`);
  print(`Read about its API and try it out at ${demo.base_url}/docs.`);
  if (EVENTS_TO) print('It publishes events, each of which is printed here.');
  else if (!JOIN && !DYNAMODB_ENDPOINT) print(howToSeeEvents);
  if (knownAs !== loopback) print(onNetwork(demo.sandbox_url.replace(loopback, knownAs)));
  print(
    `Its ids and secrets are in ${files.demo}. Ctrl-C stops it. Paste this into another shell:\n`,
  );
  print(tryIt(demo));
  stack.beginPublishing();
}

type ContradictorySettings = Pick<
  ReturnType<typeof readStartSettings>,
  'JOIN' | 'DYNAMODB_ENDPOINT' | 'LOCAL_DATA' | 'EVENTS_TO'
>;

/** @throws Error when two variables exclude each other */
function refuseContradictions(given: ContradictorySettings): void {
  const { JOIN, DYNAMODB_ENDPOINT, LOCAL_DATA, EVENTS_TO } = given;
  if (LOCAL_DATA && (JOIN || DYNAMODB_ENDPOINT))
    throw new Error(
      'LOCAL_DATA keeps the data of the embedded store. Leave out JOIN and DYNAMODB_ENDPOINT.',
    );
  if (DYNAMODB_ENDPOINT && EVENTS_TO)
    throw new Error(
      'EVENTS_TO gets what changes in the embedded store. Leave out DYNAMODB_ENDPOINT.',
    );
  if (JOIN && EVENTS_TO)
    throw new Error('The stack that JOIN names publishes the events: set EVENTS_TO at that stack.');
}

const onNetwork = (sandbox: string): string =>
  `Everybody on this network can use it, such as a phone, which finds the providers at ${sandbox}.`;

/**
 * Names flags, which have no effect. npm keeps those that it thinks are its own to itself, as
 * variables.
 */
function reportFlags(): void {
  const kept = startVariables.filter(
    (name) => process.env[`npm_config_${name.toLowerCase()}`] !== undefined,
  );
  const asTyped = kept.map((name) => `--${name.toLowerCase().replaceAll('_', '-')}`);
  const flags = [...asTyped, ...process.argv.slice(2)];
  if (flags.length > 0)
    process.stderr.write(
      `Ignored: ${flags.join(' ')}. Set variables instead, as in PORT=4000 ${startCommand}.\n`,
    );
}

/**
 * The port to listen on: that of kept data, whose tokens name their issuer.
 * @throws Error when another issuer is wanted
 */
function portFor(
  data: LocalData | undefined,
  wanted: { PORT: number | undefined; knownAs: string },
): number {
  const { PORT, knownAs } = wanted;
  if (!data?.saved) return PORT ?? 3000;
  const { url } = data.saved;
  const port = portOf(url);
  const isSame = (PORT || port) === port && new URL(url).hostname === knownAs;
  if (isSame) return port;
  throw new Error(
    `The data in LOCAL_DATA belong to ${url}, which their tokens name as issuer. Set PORT and HOST as before, or name another folder.`,
  );
}

/** Milliseconds that a DynamoDB has for its answer. */
const answerMilliseconds = 5_000;

/**
 * The store that `DYNAMODB_ENDPOINT` names.
 * @throws Error when no DynamoDB answers there
 */
async function useDynamoDb(url: string) {
  const client = localDynamoDb(url);
  try {
    await client.send(new ListTablesCommand({}), {
      abortSignal: AbortSignal.timeout(answerMilliseconds),
    });
    return { url, close: () => Promise.resolve() };
  } catch (cause) {
    const advice = 'Start DynamoDB Local there, or leave DYNAMODB_ENDPOINT out.';
    throw new Error(`No DynamoDB answers at DYNAMODB_ENDPOINT=${url}. ${advice}`, { cause });
  } finally {
    client.destroy();
  }
}

const howToSeeEvents =
  'It prints a line for each event. EVENTS_TO=terminal prints events whole, EVENTS_TO=http://… posts them (see docs/events.md).';

/** The fields of an event that may say whom or what it is about, the most telling first. */
const subjectFields = ['device_id', 'login_user_id', 'access_request_id'];

/** The type of an event and its subject: `event login_user.logged_in 4b2f…`. */
function shortLine({ 'detail-type': type, detail }: Envelope): string {
  const field = subjectFields.find((name) => detail[name] !== undefined);
  const subject = field === undefined ? '' : ` ${field} ${detail[field]}`;
  return `event ${type}${subject}`;
}

/**
 * Serves the API of a running stack in a second process, with that stack's table, secrets, sandbox,
 * demo and issuer.
 */
async function joinStack(directory: string, port: number, listening: ListenOptions) {
  const files = local.localFiles(directory);
  const running = await local.runningStack(files);
  if (!running)
    throw new Error(`JOIN=${directory} has the files of no stack that runs. Start it first.`);
  const { aws_endpoint: awsEndpoint } = running;
  const demo: Demo = JSON.parse(readFileSync(files.demo, 'utf8'));
  const routes: Route[] = [];
  const api = await serve(gateway(routes, print), port, listening);
  setEnvironment(demo, awsEndpoint);
  await loadRoutes(routes);
  return {
    demo: { ...demo, base_url: api.url },
    routes,
    awsEndpoint,
    // The stack that it joins publishes.
    beginPublishing: () => {},
    close: api.close,
  };
}

const isTakenPort = (error: unknown): error is Error & { port: number } =>
  error instanceof Error && 'code' in error && error.code === 'EADDRINUSE' && 'port' in error;

const neededPort = (port: number): string =>
  `Port ${port} is taken, and the data in LOCAL_DATA belong to it. Stop whatever listens there, or name another folder.`;

function fail(error: unknown): void {
  const taken =
    isTakenPort(error) && `Port ${error.port} is taken. PORT=0 ${startCommand} takes a free one.`;
  process.stderr.write(`${taken || (error instanceof Error ? error.message : error)}\n`);
  process.exit(1);
}

main().catch(fail);
