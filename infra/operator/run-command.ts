import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import * as v from 'valibot';
import type { Pages } from '../../lib/operator/command.ts';

type CallWith = (flags: Record<string, unknown>) => Promise<Record<string, unknown>>;

/**
 * Calls a command page by page, and prints each member of its pages as a line of JSON, or of CSV.
 * @throws Error saying how to continue, when a page after the first cannot be read
 */
export async function printLines(
  { members, from, columns = [] }: Pages,
  format: unknown,
  call: CallWith,
  print: (line: string) => void,
) {
  const lineOf = (member: unknown): string =>
    format === 'csv' ? columns.map((name) => cell(Object(member)[name])).join(',') : JSON.stringify(member);
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
 * A cell of CSV in quotes (RFC 4180). A spreadsheet takes a text that begins with one of these characters for a formula, and
 * with an apostrophe for text.
 */
const cell = (value: unknown): string =>
  `"${String(value ?? '')
    .replace(/^[=+\-@\t\r]/, "'$&")
    .replaceAll('"', '""')}"`;

/** A deletion that is not finished: what this step removed, and how long to wait before the next one. */
const stepSchema = v.looseObject({
  deleted: v.boolean(),
  removed: v.record(v.string(), v.number()),
  again_after_seconds: v.optional(v.number()),
});

/**
 * Calls a command until it is done: one that deletes much does so in steps. Any other command is called once.
 * @param pause waits for a number of seconds before the next step
 * @returns the result of the last step, with what all of them removed
 */
export async function untilDone(
  call: () => Promise<Record<string, unknown>>,
  pause: (seconds: number) => Promise<void>,
): Promise<Record<string, unknown>> {
  const removed: Record<string, number> = {};
  for (;;) {
    const result = await call();
    if (!v.is(stepSchema, result)) return result;
    for (const [name, count] of Object.entries(result.removed)) removed[name] = (removed[name] ?? 0) + count;
    const { again_after_seconds: seconds } = result;
    if (seconds === undefined) return { ...result, removed };
    await pause(seconds);
  }
}

const secretFields = ['account_secret', 'client_secret', 'login_app_token'];

/**
 * Runs a command that creates a secret, and writes the secret to a new file that only its owner can read. The file is
 * created first, so that no secret is created that has no place to go.
 * @returns the result with the file's name in the secret's place
 * @throws Error when there is such a file already, or when it cannot be written
 */
export async function secretToFile(
  file: string,
  run: () => Promise<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'wx', 0o600);
  } catch (error) {
    const exists = Object(error).code === 'EEXIST';
    throw new Error(`--secret-to: the file ${file} ${exists ? 'exists already' : 'cannot be created'}.`);
  }
  try {
    const fields = Object.entries(await run());
    const [, secret] = fields.find(([name]) => secretFields.includes(name)) ?? [];
    // A client may have keys in the place of a secret.
    if (secret === undefined) rmSync(file);
    else writeFileSync(descriptor, `${String(secret)}\n`);
    return Object.fromEntries(
      fields.map(([name, value]) => (secretFields.includes(name) ? [`${name}_file`, file] : [name, value])),
    );
  } catch (error) {
    rmSync(file);
    throw error;
  } finally {
    closeSync(descriptor);
  }
}
