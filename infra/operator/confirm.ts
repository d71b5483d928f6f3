import { createInterface } from 'node:readline';
import * as v from 'valibot';
import { issuersRemovedBy } from '../../lib/operator/commands/providers.ts';
import type { CommandLine } from './parse-command-line.ts';
import { harmless } from './readable.ts';
import type { Call, Target } from './target.ts';

/** Standard input, or what a test has in its place. */
export interface Input {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
}

/** The place where questions are asked and answered. */
export type Terminal = Input & { stderr: Pick<NodeJS.WriteStream, 'write'> };

/** The names of what a command would take away although its words don't say so; nothing for one that needs no answer. */
export async function removedBy(
  { noun, verb, flags, isConfirmed }: CommandLine,
  call: Call,
): Promise<string[]> {
  if (isConfirmed || `${noun} ${verb}` !== 'providers set') return [];
  const { 'login-app': loginApp, provider } = flags;
  return issuersRemovedBy(flags, await call('providers', 'show', { 'login-app': loginApp, provider }));
}

/** Whether a command takes something away for good. Whoever removes settings can set them again. */
const asksFirst = ({ noun, verb }: CommandLine): boolean =>
  /\b(delete|revoke)$/.test(verb) || `${noun} ${verb}` === 'identities remove';

/**
 * Asks before a command that deletes or revokes something, unless --yes says so already. The question has the names of
 * what the ids stand for.
 * @param removed names of what the command would take away beside
 * @throws Error when the answer is not yes, or when there is no terminal to ask on
 */
export async function confirm(
  line: CommandLine,
  target: Target,
  { call, ...terminal }: Terminal & { call: Call },
  removed: string[] = [],
): Promise<void> {
  const { noun, verb, flags, isConfirmed } = line;
  if (isConfirmed || (!asksFirst(line) && removed.length === 0)) return;
  const effect = removed.length > 0 ? `removes ${removed.join(', ')}` : 'takes effect at once';
  if (!terminal.stdin.isTTY) throw new Error(`${noun} ${verb} ${effect}: add --yes to confirm it.`);
  const what = removed.length > 0 ? ` ${effect}` : await describeFlags(flags, call);
  const where = target.local ? 'the stack on this machine' : `the deployed stack ${target.stack}`;
  await ask(`${noun} ${verb}${what}, on ${where}.`, terminal);
}

/** Asks whether to continue. @throws Error when the answer is not yes, or when there is no terminal to ask on */
export async function ask(what: string, { stdin, stderr }: Terminal): Promise<void> {
  if (!stdin.isTTY) throw new Error(`${what} Add --yes to confirm it.`);
  stderr.write(harmless(`${what} Continue? [y/N] `));
  if (!/^y(es)?$/i.test((await firstLine(stdin)).trim())) throw new Error('Nothing was changed.');
}

const namedSchema = v.looseObject({
  name: v.string(),
  tokens: v.optional(v.array(v.looseObject({ token_id: v.string(), name: v.string() })), []),
});

/** The flags as they are typed, each id with the name beside it: ` --account ac_1 (Reports)`. */
async function describeFlags(flags: CommandLine['flags'], call: Call): Promise<string> {
  const names = await namesOf(flags, call);
  const typed = Object.entries(flags).map(([flag, value]) => {
    const name = names.get(value);
    return ` --${flag} ${String(value)}${name === undefined ? '' : ` (${name})`}`;
  });
  return typed.join('');
}

/** Names of a Login App, its tokens and an account, by their ids; none of what cannot be shown. */
async function namesOf(flags: CommandLine['flags'], call: Call): Promise<Map<unknown, string>> {
  const names = new Map<unknown, string>();
  for (const [flag, noun] of Object.entries({ 'login-app': 'login-apps', account: 'accounts' })) {
    const id = flags[flag];
    if (id === undefined) continue;
    const shown = v.safeParse(namedSchema, await call(noun, 'show', { [flag]: id }).catch(() => undefined));
    if (!shown.success) continue;
    names.set(id, shown.output.name);
    for (const { token_id, name } of shown.output.tokens) names.set(token_id, name);
  }
  return names;
}

/** Empty when the input ends before. */
async function firstLine(stdin: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: stdin })) return line;
  return '';
}
