import { delimiter, dirname, join } from 'node:path';
import { execa } from 'execa';
import { installed } from '../../infra/local/local-directories.ts';
import { serve } from '../../infra/local/loopback-server.ts';
import { type BackgroundServer, shown, startServer } from '../support/commands.ts';

const requirements = join(import.meta.dirname, 'requirements.txt');

/** The account that MiniStack's resources belong to, and the only one it has here. */
export const account = '000000000000';
export const region = 'us-east-1';

/** MiniStack, running: it answers as AWS does. */
export interface MiniStack extends BackgroundServer {
  /** Where every service answers. */
  endpoint: string;
}

/** Installs it into a virtual environment of its own, if it is not there yet; the folder. Needs Python 3 with venv. */
export const installMiniStack = (): Promise<string> =>
  installed('ministack', requirements, async (directory) => {
    await execa('python3', ['-m', 'venv', directory], shown);
    const pip = join(directory, 'bin', 'pip');
    await execa(pip, ['install', '--quiet', '--requirement', requirements], shown);
  });

/**
 * Starts it, empty, on a free port of the loopback interface. Functions run as processes of the Node that runs
 * this, which is of the major version that is deployed.
 * @param functionsDirectory where it unpacks functions: outside of the project, whose packages they are not to find
 */
export async function startMiniStack(
  installation: string,
  logFile: string,
  functionsDirectory: string,
): Promise<MiniStack> {
  // It takes no port 0; so a port that was free a moment ago must do.
  const { url: endpoint, close } = await serve(() => {});
  await close();
  const server = await startServer([join(installation, 'bin', 'ministack')], {
    logFile,
    // Nothing else of this machine's environment, so that no setting of a real account reaches it.
    extendEnv: false,
    env: {
      PATH: [dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter),
      HOME: functionsDirectory,
      TMPDIR: functionsDirectory,
      LANG: 'C.UTF-8',
      BIND_HOST: '127.0.0.1',
      GATEWAY_PORT: new URL(endpoint).port,
      LAMBDA_EXECUTOR: 'local',
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
    },
    isReady: async () => (await fetch(`${endpoint}/_ministack/health`).catch(() => undefined))?.ok ?? false,
  });
  return { ...server, endpoint };
}
