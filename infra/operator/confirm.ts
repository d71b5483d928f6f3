import { createInterface } from 'node:readline';
import * as v from 'valibot';
import { issuersRemovedBy } from '../../lib/operator/commands/providers.ts';
import type { CommandLine } from './parse-command-line.ts';
import { harmless } from './readable.ts';
import type { Call, Target } from './target.ts';

export interface Terminal {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  stderr: Pick<NodeJS.WriteStream, 'write'>;
}

/** Commands that take something away for good; removed settings can be set again. */
const asksFirst = / (delete|revoke)$|^identities remove$/;

/**
 * Asks before a command that deletes, revokes or removes an issuer, unless --yes is given.
 * @throws Error if not answered yes
 */
export async function confirm(line: CommandLine, target: Target, call: Call, terminal: Terminal) {
  const { words, flags } = line;
  if (line.isConfirmed) return;
  const { 'login-app': loginApp, provider } = flags;
  const shown = () => call('providers show', { 'login-app': loginApp, provider });
  const removed = words === 'providers set' ? issuersRemovedBy(flags, await shown()) : [];
  if (!asksFirst.test(words) && removed.length === 0) return;
  const effect = removed.length > 0 ? `removes ${removed.join(', ')}` : 'takes effect at once';
  if (!terminal.stdin.isTTY) throw new Error(`${words} ${effect}: add --yes to confirm it.`);
  const what = removed.length > 0 ? ` ${effect}` : await describeFlags(flags, call);
  const where = target.local ? 'the stack on this machine' : `the deployed stack ${target.stack}`;
  await ask(`${words}${what}, on ${where}.`, terminal);
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

const namedSchema = v.looseObject({
  name: v.string(),
  tokens: v.optional(v.array(v.looseObject({ token_id: v.string(), name: v.string() })), []),
});

/**
 * The flags as they are typed, with the names of Login Apps, their tokens and accounts: ` --account
 * ac_1 (Reports)`.
 */
async function describeFlags(flags: CommandLine['flags'], call: Call): Promise<string> {
  const names = new Map<unknown, string>();
  for (const [flag, noun] of Object.entries({ 'login-app': 'login-apps', account: 'accounts' })) {
    const id = flags[flag];
    if (id === undefined) continue;
    const shown = v.safeParse(
      namedSchema,
      await call(`${noun} show`, { [flag]: id }).catch(() => undefined),
    );
    if (!shown.success) continue;
    names.set(id, shown.output.name);
    for (const { token_id, name } of shown.output.tokens) names.set(token_id, name);
  }
  const typed = Object.entries(flags).map(([flag, value]) => {
    const name = names.get(value);
    return ` --${flag} ${String(value)}${name === undefined ? '' : ` (${name})`}`;
  });
  return typed.join('');
}
