import { type RunningService, startService } from './start-service.ts';

/**
 * The black-box tests share one stack, in a process of its own; `SERVICE_DIR` names the folder with its
 * `demo.json`. When the variable is set already, they run against that stack instead.
 */
export default async function setUp(): Promise<void> {
  if (process.env.SERVICE_DIR) return;
  const service: RunningService = await startService();
  process.env.SERVICE_DIR = service.directory;
  stopSharedService = service.stop;
}

export let stopSharedService: () => Promise<unknown> = async () => {};
