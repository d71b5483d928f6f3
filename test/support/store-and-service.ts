import { afterAll, afterEach } from '@jest/globals';
import { localDynamoDb } from '../../infra/local/dynamodb.ts';
import { startStore } from './own-table.ts';
import { type Service, serviceOf } from './service.ts';
import { type RunningService, startService } from './start-service.ts';
import { type StoreProxy, startStoreProxy } from './store-proxy.ts';

/** A service of a test's own, whose store the test can watch, disturb and read item by item. */
export interface ServiceWithStore {
  running: RunningService;
  service: Service;
  proxy: StoreProxy;
  /** Past the proxy. */
  dynamoDb: ReturnType<typeof localDynamoDb>;
  tableName: string;
}

/** To be awaited when a test file is loaded; it ends after the file's tests, and each test's hook with it. */
export async function startServiceWithStore(
  environment: Record<string, string> = {},
  options: { movableClock?: boolean } = {},
): Promise<ServiceWithStore> {
  const store = await startStore();
  const proxy = await startStoreProxy(store.url);
  const running = await startService({ ...environment, DYNAMODB_ENDPOINT: proxy.url }, options);
  const dynamoDb = localDynamoDb(store.url);
  const leaveAlone = () => {
    proxy.hook = () => undefined;
  };
  afterEach(leaveAlone);
  afterAll(async () => {
    leaveAlone();
    await running.stop();
    dynamoDb.destroy();
    await proxy.close();
    await store.close();
  });
  return {
    running,
    service: serviceOf(running.demo, running.directory),
    proxy,
    dynamoDb,
    tableName: running.demo.table_name,
  };
}
