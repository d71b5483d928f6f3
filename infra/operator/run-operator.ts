import { setTimeout as wait } from 'node:timers/promises';
import * as v from 'valibot';
import { readableCheck, runCheck } from './check/run-check.ts';
import { confirm, type Input, removedBy } from './confirm.ts';
import { progressBar, runImport } from './import-file.ts';
import { parseCommandLine } from './parse-command-line.ts';
import { harmless, harmlessOn, isShown, readable } from './readable.ts';
import { runRelease } from './release/run-release.ts';
import { printLines, secretToFile, untilDone } from './run-command.ts';
import { callOf, whichStack } from './target.ts';

type Streams = Record<'stdout' | 'stderr', Pick<NodeJS.WriteStream, 'isTTY' | 'write'>> & Input;

/**
 * Runs a command line, after asking on a terminal if it deletes or revokes something. It prints one JSON object (a table
 * on a terminal), or where the command says so a text or one object per line, and returns exit code 0; or it prints one
 * line on standard error and returns 1. If lines of a file were rejected, or a check found something that is not ok, the
 * object says which, and the exit code is 2. Warnings go to standard error.
 */
export async function runOperator(words: string[], { stdin, ...outputs }: Streams): Promise<number> {
  const [stdout, stderr] = [harmlessOn(outputs.stdout), harmlessOn(outputs.stderr)];
  const print = (text: string): void => void stdout.write(`${text}\n`);
  try {
    const line = parseCommandLine(words);
    if ('help' in line) {
      print(line.help);
      return 0;
    }
    if (!line.target) throw new Error(await whichStack());
    if ('about' in line) {
      const isText = stdout.isTTY && !line.isJson;
      const { target } = line;
      if (line.about === 'check') {
        const result = await runCheck(target);
        print(isText ? readableCheck(result) : JSON.stringify(result, null, 2));
        return result.ok ? 0 : 2;
      }
      const { ok, warnings, ...result } = await runRelease(target, line, { stdin, stderr });
      for (const warning of warnings) stderr.write(`Warning: ${harmless(warning)}\n`);
      print(isText ? readable(result) : JSON.stringify(result, null, 2));
      return ok ? 0 : 2;
    }
    const { noun, verb, flags, lines, pages, text, files, target } = line;
    const callAny = callOf(target);
    const call = (more: Record<string, unknown>) => callAny(noun, verb, { ...flags, ...more });
    await confirm(line, target, { stdin, stderr, call: callAny }, await removedBy(line, callAny));
    if (pages) {
      await printLines(pages, flags.format, call, print);
      return 0;
    }
    if (!lines) {
      const secretFile = files['secret-to'];
      const run = () => untilDone(() => call({}), pauseOf(stderr));
      const { warnings, ...result } = v.parse(
        warnedSchema,
        await (secretFile === undefined ? run() : secretToFile(secretFile, run)),
      );
      for (const warning of warnings) stderr.write(`Warning: ${harmless(warning)}\n`);
      const isTable = stdout.isTTY && isShown(verb) && !line.isJson;
      if (text !== undefined && !line.isJson) print(String(result[text]));
      else if (isTable) print(readable(result));
      else print(JSON.stringify(result, null, 2));
      return result.ok === false ? 2 : 0;
    }
    const send = (batch: unknown) => call({ [lines.flag]: batch });
    const summary = await runImport({ ...lines, files }, send, progressBar(outputs.stderr));
    print(JSON.stringify(summary, null, 2));
    return summary.refused > 0 ? 2 : 0;
  } catch (error) {
    const [line] = String(error instanceof Error ? error.message : error).split('\n');
    stderr.write(`${line}\n`);
    return 1;
  }
}

/** The result of a command; its warnings are for people, so they aren't printed with it. */
const warnedSchema = v.looseObject({ warnings: v.optional(v.array(v.string()), []) });

/** Waits before the next step of a command, and says so on a terminal. */
const pauseOf =
  (stderr: Streams['stderr']) =>
  async (seconds: number): Promise<void> => {
    if (stderr.isTTY && seconds > 0)
      stderr.write(`Going on in ${seconds} s; you may also run it again later.\n`);
    await wait(seconds * 1000);
  };
