import { globSync, readFileSync } from 'node:fs';

/** What a test file needs: the names that its source uses. */
const needs = {
  /** A service of which it knows no more than address, sandbox and operator function. */
  anyService: /\bsharedService\b/,
  /** What only the stack on this machine has: its processes, its store, its command line. */
  thisMachine:
    /\b(ownService|startService\w*|sharedServiceWithStore|startProviderStandIn|startOwnTable)\b|support\/operator\.ts/,
};

const testFiles = (isWanted: (source: string) => boolean): string[] =>
  globSync('test/**/*.test.ts').filter((file) => isWanted(readFileSync(file, 'utf8')));

/** The black-box tests: they run against a deployed service as well, but for the slow ones, which try random input. */
export const blackBoxTests = (): string[] =>
  testFiles((source) => needs.anyService.test(source) && !needs.thisMachine.test(source)).filter(
    (file) => !file.endsWith('.slow.test.ts'),
  );

/** The folders of tests that lean on what a store does: conditions, indexes, pages, streams, errors. */
const aboutTheStore = /^test\/(access-requests|devices|http|people|publishing|sessions)\//;

/** Every test that shows whether another store does the same. */
export const testsWithStore = (): string[] =>
  testFiles((source) => needs.anyService.test(source) || needs.thisMachine.test(source)).filter((file) =>
    aboutTheStore.test(file),
  );
