import { setTimeout as wait } from 'node:timers/promises';
import * as v from 'valibot';
import { readableCheck, runCheck } from './check/run-check.ts';
import { confirm, type Terminal } from './confirm.ts';
import { progressOn, runImport } from './import-file.ts';
import { parseCommandLine } from './parse-command-line.ts';
import { harmless, harmlessOn, isShown, type Output, readable } from './readable.ts';
import { runRelease } from './release/run-release.ts';
import { printLines, secretToFile, untilDone } from './run-command.ts';
import { callOf, whichStack } from './target.ts';

type Streams = Record<'stdout' | 'stderr', Output> & Pick<Terminal, 'stdin'>;

/**
 * Runs a command line, after asking on a terminal if it deletes or revokes something. It prints one
 * JSON object (a table on a terminal), or where the command says so a text or lines; warnings and
 * errors go to standard error.
 * @returns the exit code: 1 after an error, 2 when lines of a file were rejected or a check found a
 *   problem, otherwise 0
 */
export async function runOperator(
  words: string[],
  { stdin, ...outputs }: Streams,
): Promise<number> {
  const stdout = harmlessOn(outputs.stdout);
  const stderr = harmlessOn(outputs.stderr);
  const terminal = { stdin, stderr };
  const print = (text: string): void => void stdout.write(`${text}\n`);
  try {
    const line = parseCommandLine(words);
    if ('help' in line) {
      print(line.help);
      return 0;
    }
    const { target, isJson } = line;
    if (!target) throw new Error(await whichStack());
    /**
     * Prints a result as JSON, or as a text for people if there is one. Its warnings go to standard
     * error.
     */
    const printResult = (given: Record<string, unknown>, textOf?: typeof readable) => {
      const { warnings, ...result } = v.parse(warnedSchema, given);
      for (const warning of warnings) stderr.write(`Warning: ${harmless(warning)}\n`);
      print(textOf && !isJson ? textOf(result) : JSON.stringify(result, null, 2));
    };
    if ('about' in line) {
      const { about } = line;
      if (about === 'check') {
        const result = await runCheck(target);
        printResult(result, stdout.isTTY ? () => readableCheck(result) : undefined);
        return result.ok ? 0 : 2;
      }
      const { ok, ...result } = await runRelease(about, line, target, terminal);
      printResult(result, stdout.isTTY ? readable : undefined);
      return ok ? 0 : 2;
    }
    const { flags, lines, pages, text, files } = line;
    const callAny = callOf(target);
    const call = (more: Record<string, unknown>) => callAny(line.words, { ...flags, ...more });
    await confirm(line, target, callAny, terminal);
    if (pages) {
      await printLines(pages, flags.format, call, stdout);
      return 0;
    }
    if (lines) {
      const send = (batch: unknown) => call({ [lines.flag]: batch });
      const isDryRun = flags['dry-run'] === true;
      const summary = await runImport(
        { ...lines, files, isDryRun },
        send,
        progressOn(outputs.stderr),
      );
      print(JSON.stringify(summary, null, 2));
      return summary.refused > 0 ? 2 : 0;
    }
    const secretFile = files['secret-to'];
    const pause = async (seconds: number): Promise<void> => {
      if (stderr.isTTY && seconds > 0)
        stderr.write(`Going on in ${seconds} s; you may also run it again later.\n`);
      await wait(seconds * 1000);
    };
    const run = () => untilDone(call, pause);
    const result = await (secretFile === undefined ? run() : secretToFile(secretFile, run));
    const table = stdout.isTTY && isShown(line.words) ? readable : undefined;
    printResult(result, text === undefined ? table : (found) => String(found[text]));
    return result.ok === false ? 2 : 0;
  } catch (error) {
    const [line] = String(error instanceof Error ? error.message : error).split('\n');
    stderr.write(`${line}\n`);
    return 1;
  }
}

const warnedSchema = v.looseObject({ warnings: v.optional(v.array(v.string()), []) });
