import { createInterface } from 'node:readline';
import * as v from 'valibot';
import type { CommandLine } from './parse-command-line.ts';
import { harmless } from './readable.ts';
import type { Target } from './target.ts';

/** Standard input, or what a test has in its place. */
export interface Input {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
}

/** Calls the `show` of a noun with these flags. */
type Show = (noun: string, flags: Record<string, unknown>) => Promise<Record<string, unknown>>;

/** Whether a command takes something away for good. Whoever removes settings can set them again. */
const asksFirst = ({ noun, verb }: CommandLine): boolean =>
  /\b(delete|revoke)$/.test(verb) || `${noun} ${verb}` === 'identities remove';

/**
 * Asks before a command that deletes or revokes something, unless --yes says so already. The question has the names of
 * what the ids stand for.
 * @throws Error when the answer is not yes, or when there is no terminal to ask on
 */
export async function confirm(
  line: CommandLine,
  target: Target,
  { stdin, stderr, show }: Input & { stderr: Pick<NodeJS.WriteStream, 'write'>; show: Show },
): Promise<void> {
  const { noun, verb, flags, isConfirmed } = line;
  if (!asksFirst(line) || isConfirmed) return;
  if (!stdin.isTTY) throw new Error(`${noun} ${verb} takes effect at once: add --yes to confirm it.`);
  const names = await namesOf(flags, show);
  const what = Object.entries(flags).map(([flag, value]) => {
    const name = names.get(value);
    return ` --${flag} ${String(value)}${name === undefined ? '' : ` (${harmless(name)})`}`;
  });
  const where = target.local ? 'the stack on this machine' : `the deployed stack ${target.stack}`;
  stderr.write(`${noun} ${verb}${what.join('')}, on ${where}. Continue? [y/N] `);
  if (!/^y(es)?$/i.test((await firstLine(stdin)).trim())) throw new Error('Nothing was changed.');
}

const namedSchema = v.looseObject({
  name: v.string(),
  tokens: v.optional(v.array(v.looseObject({ token_id: v.string(), name: v.string() })), []),
});

/** Names of a Login App, its tokens and an account, by their ids; none of what cannot be shown. */
async function namesOf(flags: Record<string, unknown>, show: Show): Promise<Map<unknown, string>> {
  const names = new Map<unknown, string>();
  for (const [flag, noun] of Object.entries({ 'login-app': 'login-apps', account: 'accounts' })) {
    if (flags[flag] === undefined) continue;
    const shown = v.safeParse(namedSchema, await show(noun, { [flag]: flags[flag] }).catch(() => undefined));
    if (!shown.success) continue;
    names.set(flags[flag], shown.output.name);
    for (const { token_id, name } of shown.output.tokens) names.set(token_id, name);
  }
  return names;
}

/** Empty when the input ends before. */
async function firstLine(stdin: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: stdin })) return line;
  return '';
}
