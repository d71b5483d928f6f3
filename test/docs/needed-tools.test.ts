import { expect, test } from '@jest/globals';
import { requireTools } from '../support/needed-tools.ts';

test('a check that needs tools which are missing names the package of each once, and none that is there', async () => {
  const absent = 'command -v no-such-tool';
  await expect(
    requireTools([
      ['true', 'coreutils'],
      ['javac -version-that-there-is-not', 'default-jdk-headless'],
      [absent, 'maven'],
      [absent, 'default-jdk-headless'],
    ]),
  ).rejects.toThrow(/:\n {2}apt-get install default-jdk-headless maven$/);
  await requireTools([['true', 'coreutils']]);
});
