import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import type { Demo } from '../../infra/local/demo.ts';
import { type BackgroundServer, startServer } from '../support/commands.ts';
import { type Service, serviceOf } from '../support/service.ts';

interface ServeOptions {
  /** The folder of the code. */
  root: string;
  /** As of `LOCAL_DATA`. */
  folder: string;
  dynamoDbEndpoint: string;
  /** Of the API and of the sandbox, if the folder is empty. @default free ones */
  ports?: [number, number];
  /** The time at which its clock begins, in milliseconds since 1970. @default now */
  at?: number;
}

const demoSchema = v.object({ demo: v.custom<Demo>((value) => value instanceof Object) });
const program = join(import.meta.dirname, 'serve-checkout.ts');

/** Serves a table on DynamoDB Local with the code of a checkout. The table stays when the server ends. */
export async function serveCheckout({
  root,
  folder,
  dynamoDbEndpoint,
  ports = [0, 0],
  at,
}: ServeOptions): Promise<{ service: Service; server: BackgroundServer }> {
  const given = JSON.stringify({ root, folder, dynamoDbEndpoint, ports });
  const server = await startServer([process.execPath, ...clockAt(at).words, program, given], {
    env: { NODE_OPTIONS: '', ...clockAt(at).env },
    cwd: root,
    logFile: join(folder, '..', `${Date.now()}.log`),
    isReady: (output) => /^Serving$/m.test(output),
  });
  const saved = readFileSync(join(folder, 'login-service.json'), 'utf8');
  const { demo } = v.parse(demoSchema, JSON.parse(saved));
  return { service: serviceOf(demo, folder), server };
}

/** How a process is started whose clock begins at a time. */
export const clockAt = (at: number | undefined) => ({
  words: at === undefined ? [] : ['--import', join(import.meta.dirname, 'pretend-time.ts')],
  env: at === undefined ? {} : { CLOCK_OFFSET: String(at - Date.now()) },
});
