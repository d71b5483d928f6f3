import assert from 'node:assert/strict';
import { noteOutcome } from './outcomes.ts';
import { print } from './steps.ts';

/** Named checks, one after the other; a failed one does not stop the next. @param name of them all together */
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
        print(`    ok      ${name}${typeof found === 'string' ? `: ${found}` : ''} (${milliseconds} ms)`);
        passed += 1;
      } catch (error) {
        failures.push(name);
        print(`    FAILED  ${name}: ${error instanceof Error ? error.message : error}`);
      }
    },
    /** Prints the totals as jest does. @throws AssertionError when a check has failed, or none ran */
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
