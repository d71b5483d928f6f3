import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { requireTools } from '../support/needed-tools.ts';

const empty = mkdtempSync(join(tmpdir(), 'no-tools-'));
afterAll(() => rmSync(empty, { recursive: true }));

/** Runs a program on a machine that has Node and no other tool. */
const runWithoutTools = (file: string) =>
  new Promise((resolve) => {
    const { NODE_COMPILE_CACHE = '' } = process.env;
    const env = { PATH: empty, NODE_COMPILE_CACHE };
    execFile(process.execPath, [file], { env, timeout: 60_000 }, (error, stdout, stderr) =>
      resolve({ code: error?.code, stdout, stderr }),
    );
  });

const runners = globSync('test/**/*.ts').filter((file) => /^runCheck\(/m.test(readFileSync(file, 'utf8')));

describe('a check that needs tools which are missing', () => {
  test('there are such checks', () => {
    expect(runners.length).toBeGreaterThan(0);
  });

  test.each(runners)('%s begins nothing, and says in one command what installs them', async (runner) => {
    expect(await runWithoutTools(runner)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^\nSome tools are missing\. On Debian, this installs them:\n {2}apt-get install [a-z+0-9 -]+\n$/,
      ),
    });
  });

  test('names each package once, and none that is there', async () => {
    const absent = 'command -v no-such-tool';
    const tools: Parameters<typeof requireTools>[0] = [
      ['true', 'coreutils'],
      ['javac -version-that-there-is-not', 'default-jdk-headless'],
      [absent, 'maven'],
      [absent, 'default-jdk-headless'],
    ];
    await expect(requireTools(tools)).rejects.toThrow(/:\n {2}apt-get install default-jdk-headless maven$/);
    await requireTools([['true', 'coreutils']]);
  });
});
