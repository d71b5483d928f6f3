import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { CloudAssembly } from '../../support/cloud-assembly.ts';
import { outputOf, run, runLogged, startServer } from '../../support/commands.ts';
import { installed, localDirectory } from '../../support/local-directories.ts';
import { logicalIdOf } from '../synthesized-functions.ts';

const bootstrap = join(import.meta.dirname, 'bootstrap');
/** SAM builds upon an image once per name, so another image has another name. */
const image = `localhost/lambda-node-${shortHash(readFileSync(bootstrap))}:local`;
const requirements = join(import.meta.dirname, 'requirements.txt');

/** The address under which a container finds the loopback interface of this machine. */
export const hostLoopback = '10.0.2.2';

/** What it takes, beside what the other checks need. Debian's packages have these names. */
const tools = ['podman', 'runc', 'slirp4netns', 'mmdebstrap', 'python3'];

/** @throws Error naming the tools that are missing */
export async function requireTools(): Promise<void> {
  const missing: string[] = [];
  for (const tool of tools) await outputOf(['which', tool]).catch(() => missing.push(tool));
  if (missing.length > 0)
    throw new Error(`sam local invoke needs ${missing.join(', ')}, which are not installed.`);
}

function shortHash(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 8);
}

export function installSam(): Promise<string> {
  return installed(`sam-${shortHash(readFileSync(requirements))}`, async (directory) => {
    await run(['python3', '-m', 'venv', directory]);
    await run([join(directory, 'bin', 'pip'), 'install', '--quiet', '--requirement', requirements]);
  });
}

/** Packs this machine's Debian, the Node that is deployed and the runtime interface client; the tar file. */
export async function packImage(client: string): Promise<string> {
  const directory = await installed(`lambda-image-${shortHash(readFileSync(bootstrap))}`, (folder) =>
    runLogged(
      [
        'mmdebstrap',
        '--variant=minbase',
        '--include=ca-certificates,libstdc++6',
        '--skip=output/dev',
        '--customize-hook=mkdir -p "$1/var/lang/bin" "$1/var/runtime" "$1/var/task"',
        `--customize-hook=copy-in ${process.execPath} /var/lang/bin`,
        `--customize-hook=copy-in ${dirname(dirname(client))} /var/runtime`,
        `--customize-hook=copy-in ${bootstrap} /var/runtime`,
        readFileSync('/etc/os-release', 'utf8').match(/^VERSION_CODENAME=(.*)$/m)?.[1] ?? 'stable',
        join(folder, 'image.tar'),
      ],
      { logFile: join(localDirectory('sam'), 'image.log') },
    ),
  );
  return join(directory, 'image.tar');
}

/** The real `sam local invoke`, with podman as its container engine. */
export interface SamLocal extends AsyncDisposable {
  /** What the handler returns. */
  invoke(key: string, event: unknown, environment: Record<string, string>): Promise<unknown>;
}

export async function startSamLocal(
  sam: string,
  imageFile: string,
  assembly: CloudAssembly,
): Promise<SamLocal> {
  const directory = localDirectory('sam');
  const storage = localDirectory('sam', 'podman');
  // The path of a socket must be short.
  const scratch = mkdtempSync(join(tmpdir(), 'podman-'));
  const socket = join(scratch, 'podman.sock');
  const environment = podmanEnvironment(scratch, storage);
  await run(['podman', 'import', '--quiet', '--change', 'WORKDIR /var/task', imageFile, image], {
    environment,
  });
  const service = await startServer(['podman', 'system', 'service', '--time=0', `unix://${socket}`], {
    environment,
    logFile: join(directory, 'podman.log'),
    isReady: () => existsSync(socket),
  });
  return {
    invoke: async (key, event, variables) => {
      const files = {
        template: join(assembly.directory, 'sam.json'),
        event: join(scratch, 'event.json'),
        variables: join(scratch, 'variables.json'),
      };
      writeFileSync(files.template, JSON.stringify(templateForHere(assembly, Object.keys(variables))));
      writeFileSync(files.event, JSON.stringify(event));
      writeFileSync(files.variables, JSON.stringify({ Parameters: variables }));
      const output = await outputOf(
        [
          'timeout',
          '90',
          join(sam, 'bin', 'sam'),
          'local',
          'invoke',
          logicalIdOf(key),
          '--template',
          files.template,
          '--event',
          files.event,
          '--env-vars',
          files.variables,
          '--invoke-image',
          image,
          '--skip-pull-image',
          '--region',
          'us-east-1',
        ],
        {
          logFile: join(directory, 'sam.log'),
          environment: {
            ...environment,
            DOCKER_HOST: `unix://${socket}`,
            PYTHONPATH: import.meta.dirname,
            SAM_CLI_TELEMETRY: '0',
            AWS_ACCESS_KEY_ID: 'local',
            AWS_SECRET_ACCESS_KEY: 'local',
          },
        },
      );
      const [result = ''] = output.trim().split('\n').slice(-1);
      return result === '' ? undefined : JSON.parse(result);
    },
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]();
      // Podman mounts its storage upon itself, and leaves it so.
      await run(['umount', join(storage, 'graph', 'overlay')]);
      rmSync(scratch, { recursive: true, force: true });
    },
  };
}

function podmanEnvironment(scratch: string, storage: string): Record<string, string> {
  const files = { containers: join(scratch, 'containers.conf'), storage: join(scratch, 'storage.conf') };
  // The limits that podman sets by itself are above those of a container that this machine may be.
  writeFileSync(
    files.containers,
    `[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
`,
  );
  writeFileSync(
    files.storage,
    `[storage]\ndriver = "overlay"\ngraphroot = "${storage}/graph"\nrunroot = "${scratch}/run"\n`,
  );
  return { CONTAINERS_CONF: files.containers, CONTAINERS_STORAGE_CONF: files.storage };
}

/** For this machine's processor, and with every variable declared: SAM sets no others. */
function templateForHere({ template }: CloudAssembly, variables: string[]): unknown {
  const Architectures = [process.arch === 'arm64' ? 'arm64' : 'x86_64'];
  const Variables = Object.fromEntries(variables.map((name) => [name, '']));
  const resources = Object.entries(template.Resources).map(([id, resource]) => [
    id,
    resource.Type === 'AWS::Lambda::Function'
      ? { ...resource, Properties: { ...resource.Properties, Architectures, Environment: { Variables } } }
      : resource,
  ]);
  return { ...template, Resources: Object.fromEntries(resources) };
}
