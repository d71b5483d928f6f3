import { afterAll, afterEach } from '@jest/globals';
import { localDynamoDb } from './loaded-once.ts';
import { startStore, type TestStore } from './own-table.ts';
import { type Service, serviceOf } from './service.ts';
import {
  type FollowedService,
  followService,
  type RunningService,
  startService,
} from './start-service.ts';
import { type StoreProxy, startStoreProxy } from './store-proxy.ts';

/** A service whose store the test can watch, disturb and read item by item. */
interface ServiceWithStore<Running extends FollowedService> {
  running: Running;
  service: Service;
  proxy: StoreProxy;
  /** Past the proxy. */
  dynamoDb: ReturnType<typeof localDynamoDb>;
  tableName: string;
}

/**
 * A service of a test file's own. To be awaited when the file is loaded; it ends after the file's
 * tests, and each test's hook with it.
 */
export async function startServiceWithStore(
  environment: Record<string, string> = {},
  options: { movableClock?: boolean } = {},
): Promise<ServiceWithStore<RunningService>> {
  const store = await startStore();
  const proxy = await startStoreProxy(store);
  const running = await startService({ ...environment, DYNAMODB_ENDPOINT: proxy.url }, options);
  return withStore(running, proxy, store, running.stop);
}

/**
 * The service that this jest worker's files use in turn, each with people and apps of its own.
 * Afterwards the clock is reset.
 */
export async function sharedServiceWithStore(): Promise<ServiceWithStore<FollowedService>> {
  const { WORKER_SERVICES_URL, JEST_WORKER_ID = '' } = process.env;
  if (!WORKER_SERVICES_URL)
    throw new Error('WORKER_SERVICES_URL is not set; jest sets it before the tests.');
  const store = await startStore();
  const proxy = await startStoreProxy(store, await globalThis.ofWorker.workerServer());
  const query = new URLSearchParams({ worker: JEST_WORKER_ID, store: proxy.url });
  const response = await fetch(`${WORKER_SERVICES_URL}?${query}`);
  const answer = await response.text();
  if (!response.ok) throw new Error(answer);
  const running = followService(answer);
  return withStore(running, proxy, store, async () => running.resetClock());
}

function withStore<Running extends FollowedService>(
  running: Running,
  proxy: StoreProxy,
  store: TestStore,
  end: () => Promise<void>,
): ServiceWithStore<Running> {
  const dynamoDb = localDynamoDb(store.url);
  const leaveAlone = () => {
    proxy.hook = () => undefined;
  };
  afterEach(leaveAlone);
  afterAll(async () => {
    leaveAlone();
    await end();
    dynamoDb.destroy();
    await proxy.close();
  });
  const { demo, directory } = running;
  return {
    running,
    service: serviceOf(demo, directory),
    proxy,
    dynamoDb,
    tableName: demo.table_name,
  };
}
