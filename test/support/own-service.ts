import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';
import { type Service, serviceOf } from './service.ts';
import { type RunningService, startService } from './start-service.ts';

/**
 * A service of a test file's own, to be awaited when the file is loaded; it ends after the file's
 * tests.
 */
export async function ownService(
  ...options: Parameters<typeof startService>
): Promise<{ running: RunningService; service: Service }> {
  const running = await startService(...options);
  afterAll(() => running.stop());
  return { running, service: serviceOf(running.demo, running.directory) };
}

/** A folder for the files of a test file, which goes after its tests. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'test-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  return folder;
}
