import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempDisposableSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { localDirectory } from '../../infra/local/local-files.ts';
import { installPython, startServer } from '../support/commands.ts';
import { containerTools, requireTools, tools } from '../support/needed-tools.ts';
import { countedChecks, runCheck, step } from '../support/steps.ts';

const image = 'localhost/login-service-lambda:local';
const events = join(import.meta.dirname, '..', 'events');
/** SAM leaves out a variable that refers to another resource. */
const variables = join(import.meta.dirname, 'env.json');

/** Invokes functions by `sam local invoke` with podman, in an image of this Node: not every machine reaches AWS's registry. */
runCheck(async (cleanUps) => {
  await requireTools([tools.python, ...containerTools]);
  const directory = localDirectory('sam');
  const sam = await step('Install the SAM command line', () =>
    installPython('sam', join(import.meta.dirname, 'requirements.txt')),
  );
  await step('cdk synth', () => execa('cdk', ['synth', '--quiet', '--output', directory]));
  // The path of a socket must be short.
  const scratch = cleanUps.use(mkdtempDisposableSync(join(tmpdir(), 'sam-'))).path;
  const env = podmanEnvironment(scratch);
  await step('Make the image', () => makeImage(join(scratch, 'root'), env));
  const socket = join(scratch, 'podman.sock');
  cleanUps.use(
    await step('Start podman', () =>
      startServer(['podman', 'system', 'service', '--time=0', `unix://${socket}`], {
        env,
        logFile: join(directory, 'podman.log'),
        isReady: () => existsSync(socket),
      }),
    ),
  );
  const template = writeTemplate(directory);

  const { check, conclude } = countedChecks('sam');
  const samEnvironment = {
    ...env,
    DOCKER_HOST: `unix://${socket}`,
    SAM_CLI_TELEMETRY: '0',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
  };
  const imageOptions = `--invoke-image ${image} --skip-pull-image --region us-east-1`.split(' ');
  const invoke = async (name: string, key: string): Promise<Record<string, unknown>> => {
    const files = ['-t', template, '-e', join(events, `${key}.json`), '-n', variables];
    const words = ['local', 'invoke', name, ...files, ...imageOptions];
    const { stdout } = await execa(join(sam, 'sam'), words, { timeout: 90_000, env: samEnvironment });
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
  };
  await check('the API document comes from a bundle', async () => {
    const { statusCode, body } = await invoke('DescribeApi', 'describe-api');
    assert.equal(statusCode, 200);
    assert.deepEqual(
      JSON.parse(String(body)).info.title,
      JSON.parse(readFileSync('docs/openapi.json', 'utf8')).info.title,
    );
  });
  await check('the placeholders of an event file are answered with 401', async () => {
    const { statusCode, body } = await invoke('IssueToken', 'issue-token');
    assert.equal(statusCode, 401);
    assert.equal(JSON.parse(String(body)).error, 'invalid_client');
  });
  conclude();
});

/** Imports an image of this process's Node and the runtime, and of what SAM builds upon it with: a shell, `mv` and `chmod`. */
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
  for (const folder of ['tmp', 'var/task', 'var/rapid']) mkdirSync(join(root, folder), { recursive: true });
  await execa('tar', ['-cf', `${root}.tar`, '-C', root, '.']);
  await execa('podman', ['import', '--quiet', '--change', 'WORKDIR /var/task', `${root}.tar`, image], {
    env,
  });
}

/** Settings with which podman runs within a container, too: fewer files, and no network but its own. */
function podmanEnvironment(scratch: string): Record<string, string> {
  const files = { containers: join(scratch, 'containers.conf'), storage: join(scratch, 'storage.conf') };
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

/** The synthesized template for this machine's processor, in the folder of its bundles. */
function writeTemplate(directory: string): string {
  const template = readFileSync(join(directory, 'login-service.template.json'), 'utf8');
  const file = join(directory, 'template.json');
  writeFileSync(file, process.arch === 'arm64' ? template : template.replaceAll('"arm64"', '"x86_64"'));
  return file;
}
