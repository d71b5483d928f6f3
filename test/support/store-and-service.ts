import { startDynalite } from '../../infra/local/dynamodb.ts';
import { type Service, serviceOf } from './service.ts';
import { type RunningService, startService } from './start-service.ts';
import { type StoreProxy, startStoreProxy } from './store-proxy.ts';

/** A service of a test's own, with a proxy between it and its store. */
export interface ServiceWithStore {
  running: RunningService;
  service: Service;
  proxy: StoreProxy;
  stop(): Promise<void>;
}

export async function startServiceWithStore(
  environment: Record<string, string> = {},
  options: { movableClock?: boolean } = {},
): Promise<ServiceWithStore> {
  const store = await startDynalite();
  const proxy = await startStoreProxy(store.url);
  const running = await startService({ ...environment, DYNAMODB_ENDPOINT: proxy.url }, options);
  return {
    running,
    service: serviceOf(running.demo, running.directory),
    proxy,
    stop: async () => {
      await running.stop();
      await proxy.close();
      await store.close();
    },
  };
}
