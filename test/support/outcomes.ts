import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';

/** How many tests of a file, or of a program that checks something, passed and failed. */
interface Outcome {
  name: string;
  passed: number;
  failed: number;
}

/** Path of the file that `.ci/run` counts, with an outcome on each line. */
const { TEST_OUTCOMES: path } = process.env;

const lineOf = ({ name, passed, failed }: Outcome): string => `${passed} ${failed} ${name}\n`;

/** Notes an outcome for `.ci/run`. Does nothing outside of it. */
export function noteOutcome(outcome: Outcome): void {
  if (path) appendFileSync(path, lineOf(outcome));
}

/** Every outcome that was noted in this step of `.ci/run`. */
export function notedOutcomes(): Outcome[] {
  const text = path && existsSync(path) ? readFileSync(path, 'utf8') : '';
  return [...text.matchAll(/^(\d+) (\d+) (.+)$/gm)].map(([, passed, failed, name = '']) => ({
    name,
    passed: Number(passed),
    failed: Number(failed),
  }));
}

/** Strikes the outcomes of the test files that failed, which are to run again. @returns the files */
export function strikeFailedFiles(): string[] {
  const outcomes = notedOutcomes();
  const failed = outcomes.filter(({ name, failed }) => failed > 0 && name.endsWith('.test.ts'));
  const others = outcomes.filter((outcome) => !failed.includes(outcome));
  if (path && failed.length > 0) writeFileSync(path, others.map(lineOf).join(''));
  return failed.map(({ name }) => name);
}
