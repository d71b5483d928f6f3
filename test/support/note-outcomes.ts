import { relative } from 'node:path';
import { noteOutcome } from './outcomes.ts';

/** What this reporter reads of jest's results. */
interface Results {
  testResults: {
    testFilePath: string;
    numPassingTests: number;
    numFailingTests: number;
    testExecError?: unknown;
  }[];
}

/** Notes the outcome of each test file for `.ci/run`. A jest reporter. */
export default class NoteOutcomes {
  onRunComplete(_contexts: unknown, { testResults }: Results): void {
    for (const { testFilePath, numPassingTests, numFailingTests, testExecError } of testResults) {
      // A file may fail without a test that has: when it is loaded, and when it has ended.
      const failed = Math.max(numFailingTests, testExecError ? 1 : 0);
      noteOutcome({ name: relative('', testFilePath), passed: numPassingTests, failed });
    }
  }
}
