import { basename, relative } from 'node:path';
import { noteOutcome } from './steps.ts';

/** The parts of jest's results that are read. */
interface Results {
  testResults: {
    testFilePath: string;
    numPassingTests: number;
    numFailingTests: number;
    testExecError?: unknown;
    testResults: { title: string; status: string }[];
  }[];
}

/**
 * Where an attack is described: `[RFC 9700 4.14]`, `[CVE-2022-21449]`, `[OWASP API1 2023]`,
 * `[CWE-117]`, or our own `[finding]`.
 */
const source = /^\[(RFC \d+ [\d.]+|CVE-\d{4}-\d+|OWASP API\d+ 2023|CWE-\d+|finding)\] /;

/**
 * Jest reporter: notes each file's outcome for `.ci/run`, counts attacks by asset, and fails when
 * one names no source.
 */
export default class Report {
  #withoutSource: string[] = [];

  onRunComplete(_contexts: unknown, { testResults }: Results): void {
    for (const { testFilePath, numPassingTests, numFailingTests, testExecError } of testResults) {
      // A file may fail without a test that has: when it is loaded, and when it has ended.
      const failed = Math.max(numFailingTests, testExecError ? 1 : 0);
      noteOutcome({ name: relative('', testFilePath), passed: numPassingTests, failed });
    }
    const files = testResults.filter(({ testFilePath }) => testFilePath.includes('/test/attacks/'));
    const counts = files.map(({ testFilePath, testResults: tests }) => {
      const tried = tests.filter(({ status }) => ['passed', 'failed'].includes(status));
      const attacks = tried.filter(({ title }) => source.test(title));
      const others = tried.filter(
        ({ title }) => !source.test(title) && !title.startsWith('control: '),
      );
      this.#withoutSource.push(...others.map(({ title }) => title));
      return { asset: basename(testFilePath, '.test.ts'), count: attacks.length };
    });
    if (counts.length === 0) return;
    noteOutcome({ name: 'sources of attacks', passed: 0, failed: this.#withoutSource.length });
    const total = counts.reduce((sum, { count }) => sum + count, 0);
    const byAsset = counts
      .toSorted((a, b) => a.asset.localeCompare(b.asset))
      .map(({ asset, count }) => `${asset} ${count}`)
      .join(', ');
    process.stderr.write(`\n${total} attacks tried: ${byAsset}\n`);
    for (const title of this.#withoutSource)
      process.stderr.write(`An attack names no source: ${title}\n`);
  }

  getLastError(): Error | undefined {
    const [first] = this.#withoutSource;
    return first === undefined ? undefined : new Error(`An attack names no source: ${first}`);
  }
}
