import { createInterface } from 'node:readline';
import * as v from 'valibot';
import { lossesBy } from '../../lib/operator/commands/providers.ts';
import type { CommandLine } from './parse-command-line.ts';
import { harmless } from './readable.ts';
import type { Call, Target } from './target.ts';

export interface Terminal {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  stderr: Pick<NodeJS.WriteStream, 'write'>;
}

/** Commands that take something away for good, whatever their flags are. */
const asksFirst = / (delete|revoke|merge)$|^identities remove$/;

/**
 * Asks before a command that deletes or revokes something, or removes an issuer, unless --yes is
 * given.
 * @throws Error if not answered yes
 */
export async function confirm(line: CommandLine, target: Target, call: Call, terminal: Terminal) {
  if (line.isConfirmed) return;
  const { words, flags } = line;
  const losses = await lossesOf(words, flags, call);
  if (!asksFirst.test(words) && losses.length === 0) return;
  const effect = losses.join(', and ') || 'takes effect at once';
  if (!terminal.stdin.isTTY) throw new Error(`${words} ${effect}: add --yes to confirm it.`);
  const what = losses.length > 0 ? ` ${effect}` : await describeFlags(flags, call);
  const where = target.local ? 'the stack on this machine' : `the deployed stack ${target.stack}`;
  await ask(`${words}${what}, on ${where}.`, terminal);
}

/** Losses by a change of provider settings; the settings themselves can be set again. */
async function lossesOf(words: string, flags: CommandLine['flags'], call: Call): Promise<string[]> {
  if (words !== 'providers set' && words !== 'providers remove') return [];
  const { 'login-app': loginApp, provider } = flags;
  const stored = await call('providers show', { 'login-app': loginApp, provider });
  return lossesBy(words, flags, stored);
}

/**
 * Asks whether to continue.
 * @throws Error when the answer is not yes, or without a terminal
 */
export async function ask(what: string, { stdin, stderr }: Terminal): Promise<void> {
  if (!stdin.isTTY) throw new Error(`${what} Add --yes to confirm it.`);
  stderr.write(harmless(`${what} Continue? [y/N] `));
  if (!/^y(es)?$/i.test((await firstLine(stdin)).trim())) throw new Error('Nothing was changed.');
}

async function firstLine(stdin: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: stdin })) return line;
  return '';
}

/** A Login App, with its tokens, or an account. */
const namedSchema = v.looseObject({
  name: v.string(),
  tokens: v.optional(v.array(v.looseObject({ token_id: v.string(), name: v.string() })), []),
});
type Named = v.InferOutput<typeof namedSchema>;

/**
 * The flags as they are typed, with the names of Login Apps, their tokens and accounts: ` --account
 * ac_1 (Reports)`.
 */
async function describeFlags(flags: CommandLine['flags'], call: Call): Promise<string> {
  const names = new Map<unknown, string>();
  for (const [flag, noun] of Object.entries({ 'login-app': 'login-apps', account: 'accounts' })) {
    const id = flags[flag];
    if (id === undefined) continue;
    const shown = await findNamed(`${noun} show`, { [flag]: id }, call);
    if (shown === undefined) continue;
    names.set(id, shown.name);
    for (const { token_id, name } of shown.tokens) names.set(token_id, name);
  }
  let typed = '';
  for (const [flag, value] of Object.entries(flags)) {
    const name = names.get(value);
    typed += ` --${flag} ${String(value)}`;
    if (name !== undefined) typed += ` (${name})`;
  }
  return typed;
}

/** The answer of a command; undefined if it fails, since a question can do without the name. */
async function findNamed(
  words: string,
  flags: Record<string, unknown>,
  call: Call,
): Promise<Named | undefined> {
  const result = await call(words, flags).catch(() => undefined);
  const named = v.safeParse(namedSchema, result);
  return named.success ? named.output : undefined;
}
