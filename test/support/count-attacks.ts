import { basename } from 'node:path';
import { noteOutcome } from './outcomes.ts';

/** What this reporter reads of jest's results. */
interface Results {
  testResults: { testFilePath: string; testResults: { title: string; status: string }[] }[];
}

/** Where an attack is described: `[RFC 9700 4.14]`, `[CVE-2022-21449]`, `[OWASP API1 2023]`, `[CWE-117]`, or our own `[finding]`. */
const source = /^\[(RFC \d+ [\d.]+|CVE-\d{4}-\d+|OWASP API\d+ 2023|CWE-\d+|finding)\] /;

/** Prints how many attacks were tried on each asset. A jest reporter; the run fails when an attack names no source. */
export default class CountAttacks {
  #withoutSource: string[] = [];

  onRunComplete(_contexts: unknown, { testResults }: Results): void {
    const files = testResults.filter(({ testFilePath }) => testFilePath.includes('/test/attacks/'));
    const counts = files.map(({ testFilePath, testResults: tests }) => {
      const tried = tests.filter(({ status }) => ['passed', 'failed'].includes(status));
      const attacks = tried.filter(({ title }) => source.test(title));
      const others = tried.filter(({ title }) => !source.test(title) && !title.startsWith('control: '));
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
  }

  getLastError(): Error | undefined {
    const [first] = this.#withoutSource;
    return first === undefined ? undefined : new Error(`An attack names no source: ${first}`);
  }
}
