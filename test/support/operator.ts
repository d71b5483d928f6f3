import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect } from '@jest/globals';
import { runOperator } from '../../infra/operator/run-operator.ts';
import { scratchFolder } from './own-service.ts';
import { unique } from './service.ts';

interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
}

type CommandLine = (...words: string[]) => Promise<CommandResult>;

/** @param typed what somebody types at the terminal; no terminal when absent */
const operatorAt =
  (LOCAL_DIR: string, typed?: string): CommandLine =>
  async (...words) => {
    process.env.LOCAL_DIR = LOCAL_DIR;
    const written = { stdout: '', stderr: '' };
    const isTTY = typed !== undefined;
    const stream = (name: keyof typeof written) => ({
      isTTY,
      write: (text: unknown) => {
        written[name] += text;
        return true;
      },
    });
    const stdin = Object.assign(Readable.from(typed ?? ''), { isTTY });
    const code = await runOperator(words, {
      stdin,
      stdout: stream('stdout'),
      stderr: stream('stderr'),
    });
    return { code, ...written };
  };

/** The operator's command line, in this process; `--local` is the stack that the tests share. */
export const operator = Object.assign(operatorAt(process.env.SERVICE_DIR ?? ''), {
  at: operatorAt,
  atTerminal: (typed: string): CommandLine => operatorAt(process.env.SERVICE_DIR ?? '', typed),
});

/**
 * The same in a process of its own.
 * @param environment beside this process's own
 */
export const operatorProcess = (environment: Record<string, string>, ...words: string[]) =>
  operatorProcessWith('', environment, ...words);

/** The same, with something on standard input. */
export const operatorProcessWith = (
  input: string,
  environment: Record<string, string>,
  ...words: string[]
) =>
  new Promise<CommandResult>((resolve) => {
    const env = { ...process.env, NODE_OPTIONS: '', ...environment };
    const child = execFile(
      process.execPath,
      ['infra/operator/main.ts', ...words],
      { env },
      (error, stdout, stderr) => resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    );
    child.stdin?.end(input);
  });

/** The operator's command line at a service, and files for it. */
export function operatorWithFiles({ directory }: { directory: string }) {
  const folder = scratchFolder();
  const run = (...words: string[]) => operatorAt(directory)(...words, '--local');
  /** A file of these lines, or with this text; its path. */
  const fileOf = (lines: unknown[] | string, name = unique('lines')): string => {
    const file = join(folder, name);
    const text = (line: unknown) => (typeof line === 'string' ? line : JSON.stringify(line));
    writeFileSync(file, typeof lines === 'string' ? lines : lines.map(text).join('\n'));
    return file;
  };
  /** Runs the import of a file, such as that of `events`. */
  const importFile = async (noun: string, file: string, ...flags: string[]) => {
    const { code, stdout, stderr } = await run(noun, 'import', file, ...flags);
    return { code, stderr, summary: stdout ? JSON.parse(stdout) : undefined };
  };
  return { folder, run, fileOf, importFile };
}

/** The lines that an import has rejected, by the reason. */
export const linesByReason = ({ reasons }: { reasons: { reason: string; lines: number[] }[] }) =>
  Object.fromEntries(reasons.map(({ reason, lines }) => [reason, lines]));

/** Flags as they are typed: `--name`, `Test`. */
export const flagsOf = (flags: Record<string, unknown>): string[] =>
  Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);

/** A command that works: the one JSON object that it prints. */
export async function succeeded(...words: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await operator(...words, '--local', '--yes');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

/** Every member of a list that a command prints, page by page. */
export async function allOf(words: string[], field: string): Promise<Record<string, unknown>[]> {
  const members: Record<string, unknown>[] = [];
  let after: string[] = [];
  do {
    const { next, [field]: page } = await succeeded(...words, ...after);
    members.push(...Object.values(Object(page)).map((member) => Object(member)));
    after = next === undefined ? [] : ['--after', String(next)];
  } while (after.length > 0);
  return members;
}

/** A command that fails: its one line on standard error. */
export async function failed(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await operator(...words, '--local', '--yes');
  expect({ code, stdout, lines: stderr.split('\n').length }).toEqual({
    code: 1,
    stdout: '',
    lines: 2,
  });
  return stderr.trimEnd();
}

/** A settings file with this text; its path. */
export function writeSettings(text: string | Uint8Array): string {
  const file = join(mkdtempSync(join(tmpdir(), 'settings-')), 'settings.json');
  writeFileSync(file, text);
  return file;
}
