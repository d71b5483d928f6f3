import { spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Demo } from '../../infra/local/demo.ts';
import { localFiles } from '../../infra/local/local-files.ts';
import { tryIt } from '../../infra/local/try-it.ts';
import { leakedSecrets } from './secrets-seen.ts';

/** A service, seen by a process that knows its folder. */
export interface FollowedService {
  demo: Demo;
  /** The folder that `operator --local` looks into, as `LOCAL_DIR`. */
  directory: string;
  /** Everything that the process has written so far. */
  output: () => string;
  audit: () => string;
  /** Moves the clock of a service that was started with a movable one. */
  advance: (seconds: number) => void;
  /** The time by that clock, in seconds. */
  now: () => number;
  resetClock: () => void;
}

/** A stack of its own, in a process of its own, as `npm start` runs it. */
export interface RunningService extends FollowedService {
  /** Ends it as Ctrl-C does; its exit code. */
  interrupt: () => Promise<number | null>;
  /** Ends it at once, in the middle of whatever it does, as `kill -9` does. */
  kill: () => Promise<number | null>;
  /**
   * Ends it and takes its folder away. Throws when any line that it wrote, of its log or the audit,
   * holds a secret that a test sent or got.
   */
  stop: () => Promise<void>;
}

const outputFile = (directory: string): string => join(directory, 'output.txt');
/** Has the seconds by which the service's clock goes fast. */
const clockFile = (directory: string): string => join(directory, 'clock-offset');

/** The text of a file from a byte on; empty without the file. */
function textFrom(file: string, start: number): string {
  if (!existsSync(file)) return '';
  const open = openSync(file, 'r');
  const bytes = Buffer.alloc(Math.max(0, fstatSync(open).size - start));
  const read = readSync(open, bytes, 0, bytes.length, start);
  closeSync(open);
  return bytes.toString('utf8', 0, read);
}

/** The service with this folder; its output and audit from now on. It has a movable clock. */
export function followService(directory: string): FollowedService {
  const { audit, demo } = localFiles(directory);
  const written = (file: string): (() => string) => {
    const start = existsSync(file) ? statSync(file).size : 0;
    return () => textFrom(file, start);
  };
  const clock = clockFile(directory);
  const offset = () => Number(readFileSync(clock, 'utf8'));
  // The file is replaced whole, so that the service reads the one time or the other.
  const moveClock = (seconds: number): void => {
    writeFileSync(`${clock}.new`, String(seconds));
    renameSync(`${clock}.new`, clock);
  };
  return {
    demo: JSON.parse(readFileSync(demo, 'utf8')),
    directory,
    output: written(outputFile(directory)),
    audit: written(audit),
    advance: (seconds) => moveClock(offset() + seconds),
    now: () => Math.floor(Date.now() / 1000) + offset(),
    resetClock: () => moveClock(0),
  };
}

/**
 * Starts one on free ports and waits until it is ready.
 * @param environment `JOIN`, the directory of another, makes a second process of the same service
 * @param options.movableClock lets the test move the service's clock, though not the sandbox's
 * @param options.root the folder of the code.
 * @default the one here
 */
export async function startService(
  environment: Record<string, string> = {},
  { movableClock = false, root = '.' } = {},
): Promise<RunningService> {
  const directory = mkdtempSync(join(tmpdir(), 'login-service-'));
  writeFileSync(clockFile(directory), '0');
  const log = openSync(outputFile(directory), 'a');
  const preload = movableClock ? ['--import', './test/support/movable-clock.ts'] : [];
  const child = spawn(process.execPath, [...preload, 'infra/local/start.ts'], {
    cwd: root,
    env: {
      ...process.env,
      // A large young generation, of which less is copied.
      NODE_OPTIONS: '--max-semi-space-size=64',
      PORT: '0',
      LOCAL_DIR: directory,
      LOG_LEVEL: 'INFO',
      AWS_CALL_MILLISECONDS: '60000',
      ...environment,
    },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve));
  const end = (signal: 'SIGINT' | 'SIGKILL') => (): Promise<number | null> => {
    child.kill(signal);
    return ended;
  };
  const interrupt = end('SIGINT');
  const files = localFiles(directory);
  const output = (): string => textFrom(outputFile(directory), 0);
  const audit = (): string => textFrom(files.audit, 0);
  while (!existsSync(files.demo) || !output().includes('Ctrl-C')) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`The service did not start: ${output()}`);
    await wait(20);
  }
  const followed = followService(directory);
  return {
    ...followed,
    output,
    audit,
    advance: (seconds) => {
      if (!movableClock) throw new Error('Start the service with { movableClock: true }.');
      followed.advance(seconds);
    },
    interrupt,
    kill: end('SIGKILL'),
    stop: async () => {
      await interrupt();
      const written = output().replace(tryIt(followed.demo), '') + audit();
      const [leaked, ...others] = leakedSecrets(directory, written);
      rmSync(directory, { recursive: true, force: true });
      if (leaked) {
        const more = `and ${others.length} more`;
        throw new Error(`The service wrote down a secret (${more}): ${leaked.slice(0, 8)}…`);
      }
    },
  };
}
