import { readFileSync, rmSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import * as v from 'valibot';
import { tokenAlgorithms } from '../../lib/signing/settings.ts';
import { originSecretHashesSchema } from '../settings/settings.ts';
import { startCommand } from '../version.ts';
import type { Bus } from './aws.ts';
import { type Demo, tryIt } from './demo.ts';
import { docsRoutes } from './docs-page.ts';
import { startDynamoDbLocal } from './dynamodb-local/start-dynamodb-local.ts';
import { forwardEvents } from './forward-events.ts';
import { gateway, type Route } from './gateway.ts';
import { loadRoutes, setEnvironment } from './load-functions.ts';
import { openLocalData, portOf } from './local-data.ts';
import * as local from './local-files.ts';
import { serve } from './loopback-server.ts';
import { type StackOptions, startStack } from './stack.ts';

const near = /^(terminal|http:\/\/(localhost|127(\.\d+){3}|\[::1\])(:\d+)?(\/.*)?)$/;

/** The environment variables of `npm start`. */
const startSettingsSchema = v.object({
  PORT: v.optional(v.pipe(v.string(), v.digits(), v.transform(Number), v.maxValue(65_535))),
  DYNAMODB_ENDPOINT: v.optional(v.pipe(v.string(), v.regex(/^(https?:\/\/.+)?$/, 'must be an address'))),
  EVENTS_TO: v.optional(v.pipe(v.string(), v.regex(near, 'must be terminal or an address of this machine'))),
  LOCAL_DATA: v.optional(v.string()),
  JOIN: v.optional(v.string()),
  LOG_LEVEL: v.optional(v.picklist(['INFO', 'ERROR'])),
  ORIGIN_SECRET_HASHES: v.optional(originSecretHashesSchema),
  TOKEN_ALGORITHM: v.optional(v.picklist(tokenAlgorithms)),
});

const print = (line: string) => process.stdout.write(`${line}\n`);

/** Serves the service with a demo until it is interrupted; if `JOIN` is set, the API of that stack in a second process. */
async function main(): Promise<void> {
  const flags = process.argv.slice(2);
  if (flags.length > 0)
    process.stderr.write(
      `Ignored: ${flags.join(' ')}. Set variables instead, as in PORT=4000 ${startCommand}.\n`,
    );
  const { success, output, issues } = v.safeParse(startSettingsSchema, process.env);
  if (!success) throw new Error(`${v.getDotPath(issues[0])}: ${issues[0].message}.`);
  const { JOIN, PORT, DYNAMODB_ENDPOINT, LOCAL_DATA, EVENTS_TO } = output;
  process.env.LOG_LEVEL ??= 'ERROR';
  if (LOCAL_DATA && (JOIN || DYNAMODB_ENDPOINT || EVENTS_TO))
    throw new Error(
      'LOCAL_DATA keeps the data of the embedded store. Leave out JOIN, DYNAMODB_ENDPOINT and EVENTS_TO.',
    );
  if (JOIN && EVENTS_TO)
    throw new Error('The stack that JOIN names publishes the events: set EVENTS_TO at that stack.');
  const files = local.localFiles();
  const other = await local.runningStack(files);
  if (other)
    throw new Error(
      `A stack already runs at ${other.url} (process ${other.pid}). Stop it first, or start another with PORT=0 LOCAL_DIR=FOLDER ${startCommand}.`,
    );
  local.writeAuditLinesTo(files);
  const data = LOCAL_DATA ? openLocalData(resolve(LOCAL_DATA)) : undefined;
  const port = data?.saved ? portOf(data.saved.url) : (PORT ?? 3000);
  if (PORT && PORT !== port)
    throw new Error(`The data in LOCAL_DATA belong to port ${port}, the issuer's: leave PORT out.`);
  const consumer = EVENTS_TO && EVENTS_TO !== 'terminal' ? forwardEvents(EVENTS_TO, print) : undefined;
  const bus: Bus = {
    takeEvent: (event) => {
      print(`event ${JSON.stringify(event)}`);
      consumer?.forward(event);
    },
    takeDeadLetter: (message) => print(`dead letter ${message}`),
  };
  const options: StackOptions = { port, print, bus, data };
  if (EVENTS_TO) options.startStore = () => startDynamoDbLocal(print);
  if (DYNAMODB_ENDPOINT)
    options.startStore = async () => ({ url: DYNAMODB_ENDPOINT, close: () => Promise.resolve() });
  const stack = JOIN ? await joinStack(JOIN, port) : await startStack(options);
  const { demo, routes, awsEndpoint, close } = stack;
  routes.push(...docsRoutes(demo));
  let stopping = false;
  const stop = () => {
    if (stopping) return;
    stopping = true;
    for (const file of [files.demo, files.stack]) rmSync(file, { force: true });
    close()
      .finally(() => consumer?.close())
      .then(() => process.exit(0), fail);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);

  local.writeLocalFiles(files, { url: demo.base_url, aws_endpoint: awsEndpoint }, demo);
  print(`The login service runs at ${demo.base_url}, its providers at ${demo.sandbox_url}.`);
  print(`Read about its API and try it out at ${demo.base_url}/docs.`);
  if ('publishes' in stack)
    print(stack.publishes ? 'It publishes events, each of which is printed here.' : noEvents);
  const demoFile = relative('', files.demo);
  print(`Its ids and secrets are in ${demoFile}. Ctrl-C stops it. Paste this into another shell:\n`);
  print(tryIt(demo));
}

const noEvents = `It publishes no events, since its store has no streams. EVENTS_TO=terminal ${startCommand} takes one that has (see docs/events.md).`;

/** Serves the API of a running stack in a second process, with that stack's table, secrets, sandbox, demo and issuer. */
async function joinStack(directory: string, port: number) {
  const files = local.localFiles(directory);
  const demo: Demo = JSON.parse(readFileSync(files.demo, 'utf8'));
  const { aws_endpoint: awsEndpoint } = local.readStackFile(files);
  const routes: Route[] = [];
  const api = await serve(gateway(routes, print), port);
  setEnvironment(demo, awsEndpoint);
  await loadRoutes(routes);
  return { demo: { ...demo, base_url: api.url }, routes, awsEndpoint, close: api.close };
}

function fail(error: unknown): void {
  const { code, port, message = error }: { code?: string; port?: number; message?: unknown } = Object(error);
  const taken = `Port ${port} is taken. PORT=0 ${startCommand} takes a free one.`;
  process.stderr.write(`${code === 'EADDRINUSE' ? taken : message}\n`);
  process.exit(1);
}

main().catch(fail);
