import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
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
 * Runs a check from the command line, then its `cleanUps`, even after Ctrl-C. Exit code 1 when it
 * has failed.
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

/** How many tests of a file, or of a program that checks something, passed and failed. */
interface Outcome {
  name: string;
  passed: number;
  failed: number;
}

/** Path of the file that `.ci/run` counts, with an outcome on each line. */
const { TEST_OUTCOMES: path } = process.env;

/** Notes an outcome for `.ci/run`. Does nothing outside of it. */
export function noteOutcome({ name, passed, failed }: Outcome): void {
  if (path) appendFileSync(path, `${passed} ${failed} ${name}\n`);
}

/**
 * Named checks, one after the other; a failed one does not stop the next.
 * @param name of them all together
 */
export function countedChecks(name: string) {
  let passed = 0;
  const failures: string[] = [];
  return {
    /** @param work may return a text about what it has found */
    check: async (name: string, work: () => Promise<unknown>): Promise<void> => {
      const startedAt = performance.now();
      try {
        const found = await work();
        const milliseconds = Math.round(performance.now() - startedAt);
        print(
          `    ok      ${name}${typeof found === 'string' ? `: ${found}` : ''} (${milliseconds} ms)`,
        );
        passed += 1;
      } catch (error) {
        failures.push(name);
        print(`    FAILED  ${name}: ${error instanceof Error ? error.message : error}`);
      }
    },
    /**
     * Prints the totals as jest does.
     * @throws AssertionError when a check has failed, or none ran
     */
    conclude: (): void => {
      const total = passed + failures.length;
      const failed = failures.length > 0 ? `${failures.length} failed, ` : '';
      print(`\nTests:       ${failed}${passed} passed, ${total} total`);
      noteOutcome({ name, passed, failed: failures.length });
      assert.deepEqual(failures, [], 'Some checks have failed.');
      assert.ok(total > 0, 'No check has run.');
    },
  };
}
