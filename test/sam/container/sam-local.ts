import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { execa } from 'execa';
import { installed, localDirectory } from '../../../infra/local/local-directories.ts';
import { logicalIdOf } from '../../../infra/stack/service-function.ts';
import { installPython, startServer } from '../../support/commands.ts';
import { type Tool, tools } from '../../support/needed-tools.ts';
import type { CloudAssembly } from '../synthesized-functions.ts';

/** The address under which a container finds the loopback interface of this machine. */
export const hostLoopback = '10.0.2.2';

/** What it takes, beside what the other checks need. */
export const containerTools: Tool[] = [
  ...['podman', 'runc', 'slirp4netns', 'mmdebstrap'].map((name): Tool => [`command -v ${name}`, name]),
  tools.python,
];

/** Installs the SAM command line, if it is not there yet; the folder of the command. */
export const installSam = (): Promise<string> =>
  installPython('sam', join(import.meta.dirname, 'requirements.txt'));

/** Packs this machine's Debian, the Node that is deployed and the runtime interface client; the tar file. */
export async function packImage(client: string): Promise<string> {
  const bootstrap = join(import.meta.dirname, 'bootstrap');
  const release = readFileSync('/etc/os-release', 'utf8').match(/^VERSION_CODENAME=(.*)$/m)?.[1] ?? 'stable';
  const directory = await installed('lambda-image', bootstrap, (folder) =>
    execa('mmdebstrap', [
      '--variant=minbase',
      '--include=ca-certificates,libstdc++6',
      '--skip=output/dev',
      '--customize-hook=mkdir -p "$1/var/lang/bin" "$1/var/runtime" "$1/var/task"',
      `--customize-hook=copy-in ${process.execPath} /var/lang/bin`,
      `--customize-hook=copy-in ${dirname(dirname(client))} /var/runtime`,
      `--customize-hook=copy-in ${bootstrap} /var/runtime`,
      release,
      join(folder, 'image.tar'),
    ]),
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
  const env = podmanEnvironment(scratch, storage);
  // SAM builds upon an image once per name, so another image has another name.
  const image = `localhost/${basename(dirname(imageFile))}:local`;
  await execa('podman', ['import', '--quiet', '--change', 'WORKDIR /var/task', imageFile, image], { env });
  const service = await startServer(['podman', 'system', 'service', '--time=0', `unix://${socket}`], {
    env,
    logFile: join(directory, 'podman.log'),
    isReady: () => existsSync(socket),
  });
  return {
    invoke: async (key, event, variables) => {
      const write = (name: string, content: unknown): string => {
        const file = join(name === 'template.json' ? assembly.directory : scratch, name);
        writeFileSync(file, JSON.stringify(content));
        return file;
      };
      const options = {
        '--template': write('template.json', templateForHere(assembly, Object.keys(variables))),
        '--event': write('event.json', event),
        '--env-vars': write('variables.json', { Parameters: variables }),
        '--invoke-image': image,
        '--region': 'us-east-1',
      };
      const words = ['local', 'invoke', logicalIdOf(key), '--skip-pull-image'];
      const { stdout } = await execa(join(sam, 'sam'), [...words, ...Object.entries(options).flat()], {
        timeout: 90_000,
        env: {
          ...env,
          DOCKER_HOST: `unix://${socket}`,
          PYTHONPATH: import.meta.dirname,
          SAM_CLI_TELEMETRY: '0',
          AWS_ACCESS_KEY_ID: 'local',
          AWS_SECRET_ACCESS_KEY: 'local',
        },
      });
      const [result = ''] = stdout.trim().split('\n').slice(-1);
      return result === '' ? undefined : JSON.parse(result);
    },
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]();
      // Podman mounts its storage upon itself, and leaves it so.
      await execa('umount', [join(storage, 'graph', 'overlay')]);
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
      ? {
          ...resource,
          Properties: { ...Object(resource.Properties), Architectures, Environment: { Variables } },
        }
      : resource,
  ]);
  return { ...template, Resources: Object.fromEntries(resources) };
}
