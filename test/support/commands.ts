import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

interface CommandOptions {
  /** Beside this process's own environment; undefined takes a variable out of it. */
  environment?: Record<string, string | undefined>;
  directory?: string;
}

const childOf = (
  [command = '', ...words]: string[],
  { environment = {}, directory }: CommandOptions,
  stdio: StdioOptions,
): ChildProcess =>
  spawn(command, words, {
    env: { ...process.env, ...environment },
    ...(directory && { cwd: directory }),
    stdio,
  });

/** Runs a command whose output is shown as it comes. @throws Error when it can't be run or fails */
export async function run(command: string[], options: CommandOptions = {}): Promise<void> {
  await endOf(childOf(command, options, ['ignore', 'inherit', 'inherit']), command);
}

/**
 * Runs a command whose output goes to the end of a file.
 * @throws Error with the last of the output, when it can't be run or fails
 */
export async function runLogged(
  command: string[],
  { logFile, ...options }: CommandOptions & { logFile: string },
): Promise<void> {
  const log = openSync(logFile, 'a');
  const child = childOf(command, options, ['ignore', log, log]);
  closeSync(log);
  await endOf(child, command).catch((error: Error) => {
    throw new Error(`${readFileSync(logFile, 'utf8').slice(-4_000)}\n${error.message}`);
  });
}

/**
 * Runs a command and returns what it writes on standard output.
 * @param options.logFile where what it writes on standard error is added @default this process's standard error
 * @throws Error when it can't be run or fails
 */
export async function outputOf(
  command: string[],
  { logFile, ...options }: CommandOptions & { logFile?: string } = {},
): Promise<string> {
  const log = logFile === undefined ? 'inherit' : openSync(logFile, 'a');
  const child = childOf(command, options, ['ignore', 'pipe', log]);
  if (typeof log === 'number') closeSync(log);
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (text) => (output += text));
  await endOf(child, command);
  return output;
}

async function endOf(child: ChildProcess, command: string[]): Promise<void> {
  // It does not outlive a check that is interrupted.
  const end = (): void => void child.kill();
  process.once('exit', end);
  const [code, signal] = await once(child, 'close').catch((error: unknown) => {
    throw new Error(`${command[0]} can't be run: ${error instanceof Error ? error.message : error}`);
  });
  process.off('exit', end);
  if (code !== 0) throw new Error(`${command.slice(0, 4).join(' ')} … failed with ${code ?? signal}.`);
}

/** A server in a process of its own. */
export interface BackgroundServer extends AsyncDisposable {
  /** All that it has written so far. */
  output(): string;
}

interface ServerOptions extends CommandOptions {
  /** Where its output goes. */
  logFile: string;
  /** @default the whole environment of this process */
  bareEnvironment?: Record<string, string>;
  isReady(output: string): boolean | Promise<boolean>;
}

/** Milliseconds that a server may take until it is ready, and until it has ended. */
const patience = 60_000;

/**
 * Starts a server and waits until it is ready. It leads a process group, so that ending it ends its workers too.
 * @throws Error with its output, when it ends or is not ready in time
 */
export async function startServer(
  [command = '', ...words]: string[],
  { logFile, environment, bareEnvironment, directory, isReady }: ServerOptions,
): Promise<BackgroundServer> {
  const log = openSync(logFile, 'w');
  const child = spawn(command, words, {
    env: bareEnvironment ?? { ...process.env, ...environment },
    ...(directory && { cwd: directory }),
    detached: true,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const ended = new Promise<void>((resolve) =>
    child.on('error', () => resolve()).on('exit', () => resolve()),
  );
  const output = (): string => readFileSync(logFile, 'utf8');
  const server = { output, [Symbol.asyncDispose]: () => endGroup(child, ended) };

  const deadline = Date.now() + patience;
  while (!(await isReady(output()))) {
    if (child.exitCode !== null || child.pid === undefined || Date.now() > deadline) {
      await endGroup(child, ended);
      throw new Error(`${command} did not start: ${output()}`);
    }
    await wait(50);
  }
  return server;
}

/** Asks politely first; whatever is left of the group after that is killed. */
async function endGroup({ pid }: ChildProcess, ended: Promise<void>): Promise<void> {
  if (pid === undefined) return;
  signalGroup(pid, 'SIGTERM');
  await Promise.race([ended, wait(5_000, undefined, { ref: false })]);
  signalGroup(pid, 'SIGKILL');
  await ended;
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // No process of the group is left.
  }
}
