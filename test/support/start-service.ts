import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Demo } from '../../infra/local/demo.ts';

/** A stack of its own, in a process of its own, as `npm start` runs it. */
export interface RunningService {
  demo: Demo;
  /** The folder that `operator --local` looks into, as `LOCAL_DIR`. */
  directory: string;
  /** Everything that the process has written so far. */
  output: () => string;
  stop: () => Promise<number | null>;
}

/** Starts one on free ports and waits until it is ready. */
export async function startService(environment: Record<string, string> = {}): Promise<RunningService> {
  const directory = mkdtempSync(join(tmpdir(), 'login-service-'));
  const child = spawn(process.execPath, ['infra/local/start.ts'], {
    env: { ...process.env, NODE_OPTIONS: '', PORT: '0', LOCAL_DIR: directory, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve));
  const demoFile = join(directory, 'demo.json');
  while (!existsSync(demoFile) || !output.includes('Ctrl-C')) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`The service did not start: ${output}`);
    await wait(20);
  }
  return {
    demo: JSON.parse(readFileSync(demoFile, 'utf8')),
    directory,
    output: () => output,
    stop: () => stop(child, ended, directory),
  };
}

async function stop(
  child: ChildProcess,
  ended: Promise<number | null>,
  directory: string,
): Promise<number | null> {
  child.kill('SIGINT');
  const code = await ended;
  rmSync(directory, { recursive: true, force: true });
  return code;
}
