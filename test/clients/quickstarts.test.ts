import { readFileSync } from 'node:fs';
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
