import { globSync, readFileSync } from 'node:fs';

/** The tests whose subject is what a store does: conditions, indexes, pages, streams, errors. */
const aboutTheStore =
  /^test\/(access-requests\/|devices\/|publishing\/|http\/store-(answers|calls)|people\/(crashes|identities|people-import|races)|sessions\/many-sessions)/;

/** What a test uses that has a store: a service, or the domain with a table of its own. */
const withStore = /\b(sharedService|ownService|startService)|\bstartOwnTable\b/;

/** Every test that shows whether another store does the same. */
export const testsWithStore = (): string[] =>
  globSync('test/**/*.test.ts').filter(
    (file) => aboutTheStore.test(file) && withStore.test(readFileSync(file, 'utf8')),
  );
