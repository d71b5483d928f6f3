import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempDisposableSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { localDirectory } from '../../infra/local/local-files.ts';
import { installPython, startServer } from '../support/commands.ts';
import { containerTools, requireTools, tools } from '../support/needed-tools.ts';
import { startService } from '../support/start-service.ts';
import { countedChecks, print, runCheck, step } from '../support/steps.ts';

/** The name by which SAM would download the image of Lambda. */
const image = `public.ecr.aws/lambda/nodejs:24-${process.arch === 'arm64' ? 'arm64' : 'x86_64'}`;

/** What the README promises of each event: a 201 where there was no device yet. */
const promised: Record<string, number> = {
  'provider-credentials': 200,
  'authorization-code': 200,
  'search-events': 200,
  'register-device': 201,
  'relate-device': 200,
};

/**
 * Runs the README's lines with `sam local invoke` against a stack of its own, by podman, in an
 * image of this Node: not every machine reaches AWS's registry.
 */
runCheck(async (cleanUps) => {
  await requireTools([tools.python, ...containerTools]);
  const sam = await step('Install the SAM command line', () =>
    installPython('sam', join(import.meta.dirname, 'requirements.txt')),
  );
  // The path of a socket must be short.
  const scratch = cleanUps.use(mkdtempDisposableSync(join(tmpdir(), 'sam-'))).path;
  const env = podmanEnvironment(scratch);
  await step('Make the image', () => makeImage(join(scratch, 'root'), env));
  const socket = join(scratch, 'podman.sock');
  cleanUps.use(
    await step('Start podman', () =>
      startServer(['podman', 'system', 'service', '--time=0', `unix://${socket}`], {
        env,
        logFile: join(localDirectory('sam-logs'), 'podman.log'),
        isReady: () => existsSync(socket),
      }),
    ),
  );
  const service = await step('Start the service', () => startService({ LOG_LEVEL: 'ERROR' }));
  cleanUps.defer(service.stop);
  // The folder in which somebody pastes the README's lines.
  const folder = join(scratch, 'clone');
  mkdirSync(folder);
  symlinkSync(service.directory, join(folder, '.local'));

  const { check, conclude } = countedChecks('sam');
  const samEnvironment = {
    ...env,
    PATH: `${sam}:${process.env.PATH}`,
    DOCKER_HOST: `unix://${socket}`,
    SAM_CLI_TELEMETRY: '0',
    // A developer's own, which must not reach the functions.
    AWS_ACCESS_KEY_ID: 'own',
    AWS_SECRET_ACCESS_KEY: 'own',
    AWS_SESSION_TOKEN: 'own',
  };
  const invoked = new Set<string>();
  for (const line of linesOfReadme()) {
    const [, name = '', event = ''] =
      line.match(/^sam local invoke (\w+) .*\/([\w-]+)\.json$/) ?? [];
    await check(line, async () => {
      const options = { shell: true, cwd: folder, env: samEnvironment, timeout: 120_000 } as const;
      const { stdout } = await execa(line, options);
      const { statusCode, body } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
      assert.equal(statusCode, promised[event], body);
      invoked.add(name);
      return String(statusCode);
    });
  }
  await check('a line may be repeated, although a provider takes a code once', async () => {
    const line = linesOfReadme().find((one) => one.includes('authorization-code')) ?? '';
    const { stdout } = await execa(line, {
      shell: true,
      cwd: folder,
      env: samEnvironment,
      timeout: 120_000,
    });
    assert.equal(JSON.parse(stdout.trim().split('\n').at(-1) ?? '').statusCode, 200);
  });
  print(`\nInvoked: ${[...invoked].join(', ')}`);
  conclude();
});

/**
 * The README's line for each endpoint.
 * @throws AssertionError unless it has one for each event
 */
function linesOfReadme(): string[] {
  const lines = readFileSync('README.md', 'utf8').match(/^sam local invoke .*$/gm) ?? [];
  assert.equal(lines.length, Object.keys(promised).length);
  return lines;
}

/**
 * Imports an image of this process's Node and the runtime, and of what SAM builds upon it with: a
 * shell, `mv` and `chmod`.
 */
async function makeImage(root: string, env: Record<string, string>): Promise<void> {
  const tools = ['/bin/sh', '/bin/mv', '/bin/chmod'];
  const { stdout } = await execa('ldd', [process.execPath, ...tools]);
  const libraries = stdout.match(/(?<=\s)\/\S+(?= \()/g) ?? [];
  const same = [...libraries, ...tools];
  const files = [
    ...same.map((file) => [file, file] as const),
    [process.execPath, '/var/lang/bin/node'] as const,
    [join(import.meta.dirname, 'bootstrap'), '/var/runtime/bootstrap'] as const,
  ];
  for (const [from, to] of files) {
    mkdirSync(dirname(join(root, to)), { recursive: true });
    copyFileSync(from, join(root, to));
  }
  for (const folder of ['tmp', 'var/task', 'var/rapid'])
    mkdirSync(join(root, folder), { recursive: true });
  await execa('tar', ['-cf', `${root}.tar`, '-C', root, '.']);
  await execa(
    'podman',
    ['import', '--quiet', '--change', 'WORKDIR /var/task', `${root}.tar`, image],
    {
      env,
    },
  );
}

/**
 * Settings with which podman runs within a container, too: fewer files, and no network but its own.
 */
function podmanEnvironment(scratch: string): Record<string, string> {
  const files = {
    containers: join(scratch, 'containers.conf'),
    storage: join(scratch, 'storage.conf'),
  };
  writeFileSync(
    files.containers,
    `[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
netns = "slirp4netns"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
`,
  );
  writeFileSync(
    files.storage,
    `[storage]\ndriver = "vfs"\ngraphroot = "${scratch}/graph"\nrunroot = "${scratch}/run"\n`,
  );
  return { CONTAINERS_CONF: files.containers, CONTAINERS_STORAGE_CONF: files.storage };
}
