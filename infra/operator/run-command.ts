import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import * as v from 'valibot';
import type { Pages } from '../../lib/operator/command.ts';
import type { Output } from './readable.ts';

type Run = () => Promise<Record<string, unknown>>;

/** Excel takes a file for UTF-8 only if it begins with this mark. */
const byteOrderMark = '\ufeff';

/**
 * Prints each member of a command's pages as a line of JSON or CSV. CSV in a file is as RFC 4180
 * and Excel want it.
 * @throws Error saying how to go on, if a later page fails
 */
export async function printLines(
  { members, from, columns = [] }: Pages,
  format: unknown,
  call: (flags: Record<string, unknown>) => ReturnType<Run>,
  output: Output,
) {
  // A terminal would show the mark and the carriage returns.
  const isForSpreadsheet = format === 'csv' && !output.isTTY;
  const print = (line: string): void => {
    output.write(isForSpreadsheet ? `${line}\r\n` : `${line}\n`);
  };
  const lineOf = (member: unknown): string =>
    format === 'csv'
      ? columns.map((name) => cell(Object(member)[name])).join(',')
      : JSON.stringify(member);
  if (isForSpreadsheet) output.write(byteOrderMark);
  if (format === 'csv') print(columns.join(','));
  let next: number | string | undefined;
  do {
    const flags = next === undefined ? {} : { [from]: next };
    const result = await call(flags).catch((error: Error) => {
      if (next === undefined) throw error;
      throw new Error(
        `The output is incomplete. Run the command again with --${from} ${next} for the rest. ${error.message}`,
      );
    });
    for (const member of v.parse(v.array(v.unknown()), result[members])) print(lineOf(member));
    next = v.parse(v.optional(v.union([v.number(), v.string()])), result.next);
  } while (next !== undefined);
}

/**
 * The places in a text where a formula would begin, also for a spreadsheet that begins a cell at a
 * semicolon, a tab or a line break within quotes. Some read full-width signs as formulas, too.
 */
const beginningsOfFormulas = /(^|[;\t\r\n])(?= *[=+\-@＝＋－＠])/g;

/**
 * A cell of CSV in quotes (RFC 4180). An apostrophe keeps a spreadsheet from taking a text for a
 * formula.
 */
function cell(value: unknown): string {
  const text = String(value ?? '').replaceAll(beginningsOfFormulas, "$1'");
  // White space at the beginning may be cut off, with what follows it.
  const harmless = /^[\t\r\n]/.test(text) ? `'${text}` : text;
  return `"${harmless.replaceAll('"', '""')}"`;
}

/**
 * A step of a deletion: what it removed, and the seconds until the next step, if there is one, which
 * goes on after `next`.
 */
const stepSchema = v.looseObject({
  deleted: v.boolean(),
  removed: v.record(v.string(), v.number()),
  again_after_seconds: v.optional(v.number()),
  next: v.optional(v.string()),
});

/**
 * Calls a command until it is done: a large deletion takes several steps.
 * @param call gets flags besides those that were typed
 * @returns the last result, with all that was removed
 */
export async function untilDone(
  call: (flags: Record<string, unknown>) => ReturnType<Run>,
  pause: (seconds: number) => Promise<void>,
): ReturnType<Run> {
  const removed: Record<string, number> = {};
  let flags: Record<string, unknown> = {};
  for (;;) {
    const result = await call(flags);
    if (!v.is(stepSchema, result)) return result;
    for (const [name, count] of Object.entries(result.removed))
      removed[name] = (removed[name] ?? 0) + count;
    const { again_after_seconds: seconds, next } = result;
    if (seconds === undefined) return { ...result, removed };
    if (next !== undefined) flags = { after: next };
    await pause(seconds);
  }
}

const secretFields = ['account_secret', 'client_secret', 'login_app_token'];

/**
 * Writes the secret that a command creates to a new file of its owner.
 * @returns the result with the file's name in its place
 */
export async function secretToFile(file: string, run: Run): ReturnType<Run> {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'wx', 0o600);
  } catch (error) {
    const exists = Object(error).code === 'EEXIST';
    throw new Error(
      `--secret-to: the file ${file} ${exists ? 'exists already' : 'cannot be created'}.`,
    );
  }
  try {
    const fields = Object.entries(await run());
    const [, secret] = fields.find(([name]) => secretFields.includes(name)) ?? [];
    // A client may have keys instead of a secret.
    if (secret === undefined) rmSync(file);
    else writeFileSync(descriptor, `${String(secret)}\n`);
    return Object.fromEntries(
      fields.map(([name, value]) =>
        secretFields.includes(name) ? [`${name}_file`, file] : [name, value],
      ),
    );
  } catch (error) {
    rmSync(file);
    throw error;
  } finally {
    closeSync(descriptor);
  }
}
