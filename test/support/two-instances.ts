import { ownService } from './own-service.ts';
import type { Service } from './service.ts';
import { sharedServiceWithStore } from './store-and-service.ts';

/**
 * A service in two processes, each with a cache of its own. To be awaited when a test file is
 * loaded.
 */
export async function twoInstances() {
  const { running, service, proxy } = await sharedServiceWithStore();
  const second = await ownService({ JOIN: running.directory }, { movableClock: true });
  return {
    service,
    running,
    second,
    proxy,
    both: <Value>(ask: (instance: Service) => Promise<Value>): Promise<[Value, Value]> =>
      Promise.all([ask(service), ask(second.service)]),
    advance: (seconds: number): void => {
      running.advance(seconds);
      second.running.advance(seconds);
    },
  };
}

/** What both instances answer when they answer the same. */
export const twice = <Value>(value: Value): [Value, Value] => [value, value];
