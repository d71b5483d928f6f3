import { delimiter, dirname, join } from 'node:path';
import { freePort, installPython, startServer } from '../support/commands.ts';

/** The account that MiniStack's resources belong to, and the only one it has here. */
export const account = '000000000000';
export const region = 'us-east-1';

/** Installs it, if it is not there yet; the folder of its commands, the AWS CLI among them. */
export const installMiniStack = (): Promise<string> =>
  installPython('ministack', join(import.meta.dirname, 'requirements.txt'));

/**
 * Starts it, empty, on a free loopback port. Functions run on this process's Node, which is of the
 * deployed major version.
 * @param functionsDirectory where it unpacks functions, away from the project's packages
 */
export async function startMiniStack(
  commands: string,
  logFile: string,
  functionsDirectory: string,
) {
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const server = await startServer([join(commands, 'ministack')], {
    logFile,
    // Nothing else of this machine's environment, so that no setting of a real account reaches it.
    extendEnv: false,
    env: {
      PATH: [dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter),
      HOME: functionsDirectory,
      TMPDIR: functionsDirectory,
      LANG: 'C.UTF-8',
      BIND_HOST: '127.0.0.1',
      GATEWAY_PORT: port,
      LAMBDA_EXECUTOR: 'local',
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
    },
    isReady: async () =>
      (await fetch(`${endpoint}/_ministack/health`).catch(() => undefined))?.ok ?? false,
  });
  return { ...server, endpoint };
}
