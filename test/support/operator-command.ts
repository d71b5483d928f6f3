import { spawn } from 'node:child_process';

/** How an operator command ended. */
export interface CommandEnd {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Types an operator command for the stack that a folder tells of. */
export function runOperator(directory: string, ...words: string[]): Promise<CommandEnd> {
  const child = spawn(process.execPath, ['infra/operator.ts', ...words, '--local'], {
    env: { ...process.env, NODE_OPTIONS: '', LOCAL_DIR: directory },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const end: CommandEnd = { code: null, stdout: '', stderr: '' };
  child.stdout.on('data', (text) => (end.stdout += text));
  child.stderr.on('data', (text) => (end.stderr += text));
  return new Promise((resolve) => child.on('close', (code) => resolve({ ...end, code })));
}
