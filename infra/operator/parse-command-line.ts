import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Command, commandTable, type Flag } from '../../lib/operator/command-table.ts';
import { flagProblems } from '../../lib/operator/flags.ts';

/** A command line, understood. */
export type CommandLine =
  | { help: true; noun: string | undefined; verb: string | undefined }
  | {
      help: false;
      noun: string;
      verb: string;
      flags: Record<string, unknown>;
      /** The flag that takes the lines of a file, and the file. */
      lines: { flag: string; file: string } | undefined;
      target: Target;
    };

/** Which stack the command is for. */
export type Target = { local: true } | { local: false; stack: string };

const nouns: Record<string, Record<string, Command>> = commandTable;

/** @throws Error with a line for the person who typed it */
export function parseCommandLine(words: string[]): CommandLine {
  const [noun, verb] = words.filter((word) => !word.startsWith('-'));
  if (words.length === 0 || words.includes('--help')) return { help: true, noun, verb };
  const verbs = noun !== undefined && Object.hasOwn(nouns, noun) ? nouns[noun] : undefined;
  if (!noun || !verbs) throw new Error(`There is no noun ${noun ?? ''}. See --help.`);
  const command = verb !== undefined && Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  if (!verb || !command)
    throw new Error(`${noun} has the verbs ${Object.keys(verbs).join(', ')}. See --help.`);

  const lineFlag = Object.keys(command.flags).find((name) => command.flags[name]?.kind === 'lines');
  const { local, stack, ...typed } = parseFlags(words, command, lineFlag);
  if (lineFlag !== undefined && typed[lineFlag] === undefined) {
    throw new Error(`${noun} ${verb}: name a file, as in ${noun} ${verb} FILE.ndjson.`);
  }
  const flags = Object.fromEntries(
    Object.entries(typed).map(([name, text]) => [name, flagValue(name, command.flags[name], String(text))]),
  );
  const problems = flagProblems(command, flags);
  if (problems.length > 0) throw new Error(`${noun} ${verb}: ${problems.join('; ')}.`);
  const target: Target = local ? { local: true } : { local: false, stack: String(stack ?? 'login-service') };
  const lines = lineFlag === undefined ? undefined : { flag: lineFlag, file: String(flags[lineFlag]) };
  return { help: false, noun, verb, flags, lines, target };
}

function parseFlags(
  words: string[],
  command: Command,
  lineFlag: string | undefined,
): Record<string, unknown> {
  const names = Object.keys(command.flags).filter((name) => name !== lineFlag);
  const text = { type: 'string' } as const;
  const { values, positionals } = parseArgs({
    args: words,
    allowPositionals: true,
    options: {
      ...Object.fromEntries(names.map((name) => [name, text])),
      local: { type: 'boolean' },
      stack: text,
    },
  });
  if (positionals.length > (lineFlag === undefined ? 2 : 3))
    throw new Error('There are words that belong to no flag; quote values that hold spaces.');
  return { ...values, ...(lineFlag !== undefined && { [lineFlag]: positionals[2] }) };
}

function flagValue(name: string, flag: Flag | undefined, text: string): unknown {
  if (flag?.kind === 'integer') return /^\d+$/.test(text) ? Number(text) : text;
  if (flag?.kind !== 'json') return text;
  try {
    return JSON.parse(readFileSync(text, 'utf8'));
  } catch (error) {
    const why = error instanceof SyntaxError ? 'is not JSON' : 'cannot be read';
    throw new Error(`--${name}: the file ${text} ${why}.`);
  }
}
