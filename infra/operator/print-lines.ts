import * as v from 'valibot';
import type { Pages } from '../../lib/operator/command.ts';

type Call = (flags: Record<string, unknown>) => Promise<Record<string, unknown>>;

/**
 * Calls a command page by page, and prints each member of its pages as a line of JSON.
 * @throws Error saying how to continue, when a page after the first cannot be read
 */
export async function printLines({ members, from }: Pages, call: Call, print: (line: string) => void) {
  const page = v.pipe(
    v.looseObject({ next: v.optional(v.union([v.number(), v.string()])) }),
    v.transform((result) => ({ lines: v.parse(v.array(v.unknown()), result[members]), next: result.next })),
  );
  let next: number | string | undefined;
  do {
    const { lines, next: following } = v.parse(page, await callFrom(from, next, call));
    for (const line of lines) print(JSON.stringify(line));
    next = following;
  } while (next !== undefined);
}

async function callFrom(flag: string, next: number | string | undefined, call: Call) {
  if (next === undefined) return call({});
  try {
    return await call({ [flag]: next });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(
      `The output is incomplete. Run the command again with --${flag} ${next} for the rest. ${why}`,
    );
  }
}
