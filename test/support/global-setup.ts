import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { localDirectory } from '../../infra/local/local-files.ts';
import { serve } from '../../infra/local/loopback-server.ts';
import { startService } from './start-service.ts';
import { noteOutcome } from './steps.ts';

const started = new AsyncDisposableStack();

/**
 * Starts the stack that the black-box tests share, unless `SERVICE_DIR` names the folder of
 * another.
 */
export default async function setUp(): Promise<void> {
  // Node keeps what it has compiled for the many processes that the tests start.
  process.env.NODE_COMPILE_CACHE ??= localDirectory('compile-cache');
  const synthesis = new Worker(join(import.meta.dirname, 'synthesis-thread.ts'));
  started.defer(async () => void (await synthesis.terminate()));
  [process.env.SYNTHESIS_URL] = await once(synthesis, 'message');
  const workerServices = await serve(startWorkerService);
  started.defer(workerServices.close);
  process.env.WORKER_SERVICES_URL = workerServices.url;
  process.env.SERVICE_DIR ||= await start();
}

export async function tearDown(): Promise<void> {
  try {
    await started.disposeAsync();
  } catch (error) {
    noteOutcome({ name: 'the shared stacks', passed: 0, failed: 1 });
    throw error;
  }
}

/** Starts a service that ends with the run; its folder. */
async function start(...options: Parameters<typeof startService>): Promise<string> {
  const { directory, stop } = await startService(...options);
  started.defer(stop);
  return directory;
}

const ofWorkers = new Map<string | null, Promise<string>>();

/**
 * Answers `?worker=1&store=URL` with the folder of that jest worker's service, started once, with a
 * movable clock.
 */
async function startWorkerService(
  { url = '' }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { searchParams } = new URL(url, 'http://localhost');
  const worker = searchParams.get('worker');
  const store = searchParams.get('store') ?? '';
  const starting =
    ofWorkers.get(worker) ?? start({ DYNAMODB_ENDPOINT: store }, { movableClock: true });
  ofWorkers.set(worker, starting);
  await starting.then(
    (directory) => response.end(directory),
    (error: unknown) => response.writeHead(500).end(String(error)),
  );
}
