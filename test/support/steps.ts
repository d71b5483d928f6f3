import { performance } from 'node:perf_hooks';

export const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** Says what is done, does it, and says how long it took. */
export async function step<T>(what: string, work: () => Promise<T>): Promise<T> {
  print(`\n--- ${what}`);
  const startedAt = performance.now();
  const result = await work();
  print(`    done in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  return result;
}

/**
 * Runs a check from the command line. Whatever it hands to `cleanUps` is ended when it is through, has failed
 * or is interrupted. Exit code 1 when it has failed.
 */
export function runCheck(check: (cleanUps: AsyncDisposableStack) => Promise<void>): void {
  const cleanUps = new AsyncDisposableStack();
  const interrupted = (signal: NodeJS.Signals): void => {
    process.stderr.write(`Interrupted by ${signal}.\n`);
    cleanUps.disposeAsync().finally(() => process.exit(130));
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, interrupted);
  check(cleanUps)
    .finally(() => cleanUps.disposeAsync())
    .then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`\n${error instanceof Error ? error.message : String(error)}\n`);
        process.exit(1);
      },
    );
}
