import { afterAll } from '@jest/globals';
import { type Service, serviceOf } from './service.ts';
import { type RunningService, startService } from './start-service.ts';

/** A service of a test file's own, to be awaited when the file is loaded; it ends after the file's tests. */
export async function ownService(
  ...options: Parameters<typeof startService>
): Promise<{ running: RunningService; service: Service }> {
  const running = await startService(...options);
  afterAll(() => running.stop());
  return { running, service: serviceOf(running.demo, running.directory) };
}
