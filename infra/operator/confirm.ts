import { createInterface } from 'node:readline';
import type { CommandLine } from './parse-command-line.ts';
import type { Target } from './target.ts';

/** Standard input, or what a test has in its place. */
export interface Input {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
}

/** Whether a command takes something away for good. Whoever removes settings can set them again. */
const asksFirst = ({ noun, verb }: CommandLine): boolean =>
  /\b(delete|revoke)$/.test(verb) || `${noun} ${verb}` === 'identities remove';

/**
 * Asks before a command that deletes or revokes something, unless --yes says so already.
 * @throws Error when the answer is not yes, or when there is no terminal to ask on
 */
export async function confirm(
  line: CommandLine,
  target: Target,
  { stdin, stderr }: Input & { stderr: Pick<NodeJS.WriteStream, 'write'> },
): Promise<void> {
  const { noun, verb, flags, isConfirmed } = line;
  if (!asksFirst(line) || isConfirmed) return;
  if (!stdin.isTTY) throw new Error(`${noun} ${verb} takes effect at once: add --yes to confirm it.`);
  const what = Object.entries(flags).map(([name, value]) => ` --${name} ${String(value)}`);
  const where = target.local ? 'the stack on this machine' : `the deployed stack ${target.stack}`;
  stderr.write(`${noun} ${verb}${what.join('')}, on ${where}. Continue? [y/N] `);
  if (!/^y(es)?$/i.test((await firstLine(stdin)).trim())) throw new Error('Nothing was changed.');
}

/** Empty when the input ends before. */
async function firstLine(stdin: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: stdin })) return line;
  return '';
}
