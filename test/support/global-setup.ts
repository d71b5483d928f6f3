import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { startDynalite } from '../../infra/local/dynamodb.ts';
import { localDirectory } from '../../infra/local/local-files.ts';
import type { LoopbackServer } from '../../infra/local/loopback-server.ts';
import { type RunningService, startService } from './start-service.ts';
import { noteOutcome } from './steps.ts';
import { serveWorkerServices } from './worker-services.ts';

let service: RunningService | undefined;
let store: LoopbackServer | undefined;
let workerServices: LoopbackServer | undefined;
let synthesis: Worker | undefined;

/**
 * The black-box tests share one stack, in a process of its own; `SERVICE_DIR` names the folder with its
 * `demo.json`. When the variable is set already, they run against that stack instead.
 */
export default async function setUp(): Promise<void> {
  // Node keeps what it has compiled for the many processes that the tests start.
  process.env.NODE_COMPILE_CACHE ??= localDirectory('compile-cache');
  synthesis = new Worker(join(import.meta.dirname, 'synthesis-thread.ts'));
  [process.env.SYNTHESIS_URL] = await once(synthesis, 'message');
  store = await startDynalite();
  process.env.STORE_URL = store.url;
  workerServices = await serveWorkerServices();
  process.env.WORKER_SERVICES_URL = workerServices.url;
  if (process.env.SERVICE_DIR) return;
  service = await startService();
  process.env.SERVICE_DIR = service.directory;
}

export async function tearDown(): Promise<void> {
  await synthesis?.terminate();
  try {
    await Promise.all([service?.stop(), workerServices?.close()]);
    await store?.close();
  } catch (error) {
    noteOutcome({ name: 'the shared stacks', passed: 0, failed: 1 });
    throw error;
  }
}
