import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '@jest/globals';

/** What a command line has left behind. */
export interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
}

type CommandLine = (...words: string[]) => Promise<CommandResult>;

const operatorAt =
  (LOCAL_DIR: string): CommandLine =>
  (...words) =>
    new Promise((resolve) => {
      const env = { ...process.env, NODE_OPTIONS: '', LOCAL_DIR };
      execFile(process.execPath, ['infra/operator.ts', ...words], { env }, (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
      );
    });

/** The operator's command line, in a process of its own; `--local` is the stack that the tests share. */
export const operator = Object.assign(operatorAt(process.env.SERVICE_DIR ?? ''), { at: operatorAt });

/** A command that works: the one JSON object that it prints. */
export async function succeeded(...words: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await operator(...words, '--local');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

/** A command that is refused: its one line on standard error. */
export async function refused(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await operator(...words, '--local');
  expect({ code, stdout, lines: stderr.split('\n').length }).toEqual({ code: 1, stdout: '', lines: 2 });
  return stderr.trimEnd();
}

export const accountOf = ({ account_id, account_secret }: Record<string, unknown>) => ({
  account_id: String(account_id),
  account_secret: String(account_secret),
});

/** A settings file with this text; its path. */
export function writeSettings(text: string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'settings-')), 'settings.json');
  writeFileSync(file, text);
  return file;
}
