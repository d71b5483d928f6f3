import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type EmbeddedStore, startEmbeddedStore } from '../../infra/local/embedded-store.ts';

// What the test files of a jest worker share: the test environment loads this file, once.

let store: Promise<EmbeddedStore> | undefined;
let server: Promise<Server> | undefined;

/** The store of this worker's files. It ends with the process, which it does not keep. */
export const workerStore = (): Promise<EmbeddedStore> => (store ??= startStore());

/** The server at which this worker's service finds its store. */
export const workerServer = (): Promise<Server> => (server ??= startServer());

async function startStore(): Promise<EmbeddedStore> {
  const started = await startEmbeddedStore();
  keepNothing(started.server);
  return started;
}

async function startServer(): Promise<Server> {
  const started = createServer().listen(0, '127.0.0.1');
  started.keepAliveTimeout = 0;
  keepNothing(started);
  // After the last file, the service still wants to delete its table: an answer that never came
  // would keep it running.
  started.on(
    'request',
    (_, response) => started.listenerCount('request') === 1 && response.destroy(),
  );
  await once(started, 'listening');
  return started;
}

/** Lets the process end while a server listens and has connections. */
function keepNothing(listening: Server): void {
  listening.unref();
  listening.on('connection', (socket) => socket.unref());
}
