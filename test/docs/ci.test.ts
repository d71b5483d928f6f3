import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { execa } from 'execa';

/**
 * A machine that has these programs and an npm that only notes its arguments: no apt-get, no dpkg,
 * no flock, no podman.
 */
const machine = mkdtempSync(join(tmpdir(), 'machine-'));
afterAll(() => rmSync(machine, { recursive: true }));
for (const program of 'awk bash cat dirname grep id mkdir mktemp paste rm rmdir sleep'.split(' ')) {
  const { stdout } = await execa('sh', ['-c', `command -v ${program}`]);
  symlinkSync(stdout, join(machine, program));
}
const npm = `#!${join(machine, 'bash')}
echo "$*" >>"$CALLS"
case "$*" in
  'run -s tools') echo "$MISSING" ;;
  ci | *synth | *openapi:check) ;;
  *) echo "3 0 $*" >>"$TEST_OUTCOMES" ;;
esac
[ "$(grep -cxF -- "$*" "$CALLS")" != 1 ] || [[ "$*" != $FAILS_ONCE* ]]
`;
writeFileSync(join(machine, 'npm'), npm);
chmodSync(join(machine, 'npm'), 0o755);

/**
 * Runs `.ci/run` there.
 * @param failsOnce how the arguments of npm begin that fails at its first call
 */
async function run({ failsOnce = 'nothing', missing = '' }) {
  const calls = join(mkdtempSync(join(machine, 'run-')), 'calls');
  const env = {
    PATH: machine,
    TMPDIR: machine,
    CALLS: calls,
    FAILS_ONCE: failsOnce,
    MISSING: missing,
  };
  const { code, output } = await new Promise<{ code: unknown; output: string }>((resolve) =>
    execFile(join(machine, 'bash'), ['.ci/run'], { env }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, output: `${stdout}${stderr}` }),
    ),
  );
  return { code, output, calls: readFileSync(calls, 'utf8').trim().split('\n') };
}

describe('.ci/run', () => {
  test('needs npm and what each Unix has, and ends with the number of tests', async () => {
    const { code, output, calls } = await run({});
    expect({ code, output }).toEqual({
      code: 0,
      output: expect.stringMatching(/\n33 passed, 0 failed\n$/),
    });
    expect(output).not.toMatch(/not found|invalid/);
    expect(output).toContain('Left out: npm run test:sam, which needs podman.');
    expect(new Set(calls).size).toBe(calls.length);
  });

  test.each([
    ['ci', 'may fail once', 0],
    ['run test:deploy', 'may fail once', 0],
    ['run test:fuzz', 'may fail once', 0],
    ['test', 'may not', 1],
    ['run -s test:slow', 'may not', 1],
    ['run test:docs', 'may not', 1],
  ])('npm %s %s: only what downloads or emulates may', async (failsOnce, _, failed) => {
    const { code, output, calls } = await run({ failsOnce });
    const report = failed ? 'Failed' : 'Failed once, and repeated';
    expect(output).toMatch(
      new RegExp(`\n${report}: npm .*\n(.*\n)*33 passed, ${failed} failed\n$`),
    );
    const count = calls.filter((call) => call.startsWith(failsOnce)).length;
    expect({ code, count }).toEqual({ code: failed, count: failed ? 1 : 2 });
  });

  test('names the tools that it can not install', async () => {
    const { code, output } = await run({ missing: 'maven git' });
    expect(code).toBe(1);
    expect(output).toContain('apt-get install maven git');
  });
});
