import { globSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

/**
 * `npm run test:clients` runs the apps in TypeScript and Kotlin. Swift is only compiled, where
 * Xcode is installed.
 */
test.each(['Session.swift', 'Session.kt', 'session.ts'])(
  '%s shows the login after a lost key, too',
  (name) => {
    const source = readFileSync(`docs/examples/phones/${name}`, 'utf8');
    const [, refresh = ''] = source.split(/private (?:async |suspend )?(?:fun |func )?refresh\(/);
    const [untilLogin = ''] = refresh.split(/throw (?:new )?LoggedOut/);
    for (const code of ['invalid_grant', 'invalid_dpop_proof']) expect(untilLogin).toContain(code);
  },
);

test('the sentences in the table of errors on the page about phones are those of the service', () => {
  const [, table = ''] =
    readFileSync('docs/phones.md', 'utf8').match(/^## Errors$(.*?)^## /ms) ?? [];
  const sentences = [...table.matchAll(/^\| `([A-Za-z ][^`]* [^`]*)`/gm)].map(
    ([, one = '']) => one,
  );
  const sources = globSync('lib/**/*.ts').map((path) =>
    readFileSync(path, 'utf8').replaceAll('\\', ''),
  );
  const isKnown = (sentence: string) => {
    const parts = sentence.split('…').map((part) => part.trim());
    return sources.some((source) => parts.every((part) => source.includes(part)));
  };
  const ofLog = (sentence: string) => sentence.startsWith('invalid_grant: ');
  expect(sentences.filter((one) => !ofLog(one) && !isKnown(one))).toEqual([]);
  expect(sentences.length).toBeGreaterThan(20);
});
