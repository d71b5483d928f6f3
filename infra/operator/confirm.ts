import { createInterface } from 'node:readline';
import type { CommandLine } from './parse-command-line.ts';
import type { Target } from './target.ts';

/** Standard input, or what a test has in its place. */
export interface Input {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
}

/**
 * The names of what a command would take away although its words don't say so; nothing for one that needs no answer.
 * @param call carries another command out, which shows what there is
 */
export async function removedBy(
  { flags, removes, isConfirmed }: CommandLine,
  call: (noun: string, verb: string, flags: CommandLine['flags']) => Promise<Record<string, unknown>>,
): Promise<string[]> {
  if (!removes || isConfirmed) return [];
  const { noun, verb, flags: names } = removes.shownBy;
  const shown = await call(noun, verb, Object.fromEntries(names.map((name) => [name, flags[name]])));
  return removes.list(flags, shown);
}

/** Whether a command takes something away for good. */
const asksFirst = (verb: string): boolean => /\b(delete|revoke|remove)$/.test(verb);

/**
 * Asks before a command that deletes or revokes something, unless --yes says so already.
 * @param removed names of what the command would take away beside
 * @throws Error when the answer is not yes, or when there is no terminal to ask on
 */
export async function confirm(
  { noun, verb, flags, isConfirmed }: CommandLine,
  target: Target,
  { stdin, stderr }: Input & { stderr: Pick<NodeJS.WriteStream, 'write'> },
  removed: string[] = [],
): Promise<void> {
  if (isConfirmed || (!asksFirst(verb) && removed.length === 0)) return;
  const effect = removed.length > 0 ? `removes ${removed.join(', ')}` : 'takes effect at once';
  if (!stdin.isTTY) throw new Error(`${noun} ${verb} ${effect}: add --yes to confirm it.`);
  const typed = Object.entries(flags).map(([name, value]) => ` --${name} ${String(value)}`);
  const what = removed.length > 0 ? ` ${effect}` : typed.join('');
  const where = target.local ? 'the stack on this machine' : `the deployed stack ${target.stack}`;
  stderr.write(`${noun} ${verb}${what}, on ${where}. Continue? [y/N] `);
  if (!/^y(es)?$/i.test((await firstLine(stdin)).trim())) throw new Error('Nothing was changed.');
}

/** Empty when the input ends before. */
async function firstLine(stdin: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: stdin })) return line;
  return '';
}
