import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { execa, type Options } from 'execa';
import { installed } from '../../infra/local/local-files.ts';
import { serve } from '../../infra/local/loopback-server.ts';

/** For a command whose output is shown as it comes. */
export const shown = { stdin: 'ignore', stdout: 'inherit', stderr: 'inherit' } as const;

/**
 * For npm: packages that others depend on come in the versions of the day when they were tested, as
 * from a lock file.
 */
export const asTested = { npm_config_before: '2026-11-28' };

/**
 * Runs the tests of these files.
 * @throws Error when one fails
 */
export const runJest = (files: string[], env: Record<string, string>): Promise<unknown> =>
  execa('npm', ['run', '--silent', 'jest', '--', ...files], { ...shown, env });

/**
 * Installs PyPI packages into a virtual environment, once; the folder of its commands. Needs Python
 * 3 with venv.
 */
export async function installPython(name: string, requirements: string): Promise<string> {
  const environment = await installed(name, requirements, async (directory) => {
    await execa('python3', ['-m', 'venv', directory], shown);
    const pip = join(directory, 'bin', 'pip');
    // Python compiles what is imported; most never is.
    const options = ['--quiet', '--no-compile', '--requirement', requirements];
    await execa(pip, ['install', ...options], shown);
  });
  return join(environment, 'bin');
}

/**
 * A port that was free a moment ago, for a server that takes no port 0 or tells none that it has
 * taken.
 */
export async function freePort(): Promise<string> {
  const { url, close } = await serve(() => {});
  await close();
  return new URL(url).port;
}

/** A server in a process of its own. */
export interface BackgroundServer extends AsyncDisposable {
  output(): string;
}

interface ServerOptions extends Pick<Options, 'cwd' | 'env' | 'extendEnv'> {
  logFile: string;
  isReady(output: string): boolean | Promise<boolean>;
}

/** Milliseconds that a server may take until it is ready. */
const patience = 60_000;

/**
 * Starts a server and waits until it is ready. Ending it ends its child processes.
 * @throws Error with its output
 */
export async function startServer(
  [command = '', ...words]: string[],
  { logFile, isReady, ...options }: ServerOptions,
): Promise<BackgroundServer> {
  writeFileSync(logFile, '');
  const log = { file: logFile };
  const own = {
    stdin: 'ignore',
    stdout: log,
    stderr: log,
    killDescendants: true,
    reject: false,
  } as const;
  const child = execa(command, words, { ...options, ...own });
  const output = (): string => readFileSync(logFile, 'utf8');
  let ended = false;
  void child.finally(() => (ended = true));
  const end = async () => {
    child.kill();
    return await child;
  };
  const deadline = Date.now() + patience;
  while (!(await isReady(output()))) {
    if (ended || Date.now() > deadline) {
      const { shortMessage = command } = await end();
      throw new Error(`It did not start. ${shortMessage}\n${output()}`);
    }
    await wait(50);
  }
  return { output, [Symbol.asyncDispose]: async () => void (await end()) };
}
