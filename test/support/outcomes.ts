import { appendFileSync } from 'node:fs';

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
