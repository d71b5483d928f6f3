import { globSync, readFileSync } from 'node:fs';

/** What a test file needs: the names that its source uses. */
const needs = {
  /** A service of which it knows no more than address, sandbox and operator function. */
  anyService: /\bsharedService\b/,
  /** What only the stack on this machine has: its processes, its store, its command line. */
  thisMachine: /\b(ownService|startService\w*|startProviderStandIn|startOwnTable)\b|support\/operator\.ts/,
};

const testFiles = (isWanted: (source: string) => boolean): string[] =>
  globSync('test/**/*.test.ts').filter((file) => isWanted(readFileSync(file, 'utf8')));

/** The black-box tests: they run against a deployed service as well. */
export const blackBoxTests = (): string[] =>
  testFiles((source) => needs.anyService.test(source) && !needs.thisMachine.test(source));

/** The folders of tests about something else, which reach the store only on their way. */
const notAboutTheStore = /^test\/(deployment|docs|log|providers|stack)\//;

/** Every test of what the service stores, reads and deletes. */
export const testsWithStore = (): string[] =>
  testFiles((source) => needs.anyService.test(source) || needs.thisMachine.test(source)).filter(
    (file) => !notAboutTheStore.test(file),
  );
