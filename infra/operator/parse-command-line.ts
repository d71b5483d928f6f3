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

const text = { type: 'string' } as const;
const yes = { type: 'boolean' } as const;
/** Every flag of every command; which of them fit is looked at when the command is known. */
const allFlags = Object.fromEntries(
  Object.values(nouns)
    .flatMap((verbs) => Object.values(verbs))
    .flatMap(({ flags }) => Object.keys(flags))
    .map((name) => [name, text]),
);
const options = { ...allFlags, stack: text, local: yes, help: yes };

/** @throws Error with a line for the person who typed it */
export function parseCommandLine(words: string[]): CommandLine {
  const { values, positionals, tokens } = parseArgs({
    args: words,
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const [noun, ...verbWords] = positionals;
  const { verb, file } = verbAndFile(noun, verbWords);
  if (words.length === 0 || values.help) return { help: true, noun, verb };

  const typed = tokens.filter((token) => token.kind === 'option');
  const unknown = typed.find(({ name }) => !Object.hasOwn(options, name));
  if (unknown) throw new Error(`There is no flag ${unknown.rawName}. See --help.`);
  const command = commandOf(noun, verb);
  for (const { name, rawName, value } of typed) {
    if (Object.hasOwn(command.flags, name) && (value === undefined || value.startsWith('--'))) {
      throw new Error(
        `The flag ${rawName} needs a value; write ${rawName}=… for one that begins with a dash.`,
      );
    }
  }
  const { local, stack, ...others } = values;
  const lineFlag = lineFlagOf(command);
  const given = { ...others, ...(lineFlag !== undefined && file !== undefined && { [lineFlag]: file }) };
  if (lineFlag !== undefined && given[lineFlag] === undefined) {
    throw new Error(`${noun} ${verb}: name a file, as in ${noun} ${verb} FILE.ndjson.`);
  }
  const flags = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, flagValue(name, command.flags[name], String(value))]),
  );
  const problems = flagProblems(command, flags);
  if (problems.length > 0) throw new Error(`${noun} ${verb}: ${problems.join('; ')}.`);
  const target: Target = local ? { local: true } : { local: false, stack: String(stack ?? 'login-service') };
  const lines = lineFlag === undefined ? undefined : { flag: lineFlag, file: String(flags[lineFlag]) };
  return { help: false, noun: String(noun), verb: String(verb), flags, lines, target };
}

/** A verb may have two words, as in tokens create. The word after one that takes the lines of a file is that file. */
function verbAndFile(
  noun: string | undefined,
  words: string[],
): { verb: string | undefined; file: string | undefined } {
  const [verb, shorter] = [words.join(' '), words.slice(0, -1).join(' ')];
  const verbs = noun !== undefined && Object.hasOwn(nouns, noun) ? nouns[noun] : undefined;
  const command = verbs && Object.hasOwn(verbs, shorter) ? verbs[shorter] : undefined;
  if (command && lineFlagOf(command) !== undefined) return { verb: shorter, file: words.at(-1) };
  return { verb: verb || undefined, file: undefined };
}

/** The flag that takes the lines of a file, which is named without it. */
const lineFlagOf = ({ flags }: Command): string | undefined =>
  Object.keys(flags).find((name) => flags[name]?.kind === 'lines');

function commandOf(noun: string | undefined, verb: string | undefined): Command {
  const verbs = noun !== undefined && Object.hasOwn(nouns, noun) ? nouns[noun] : undefined;
  if (!verbs) throw new Error(`There is no noun ${noun ?? ''}. See --help.`);
  const command = verb !== undefined && Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  if (!command && Object.keys(verbs).some((known) => verb?.startsWith(`${known} `))) {
    throw new Error('There are words that belong to no flag; quote values that hold spaces.');
  }
  if (!command) throw new Error(`${noun} has the verbs ${Object.keys(verbs).join(', ')}. See --help.`);
  return command;
}

function flagValue(name: string, flag: Flag | undefined, value: string): unknown {
  if (flag?.kind === 'integer') return /^\d+$/.test(value) ? Number(value) : value;
  if (flag?.kind !== 'json') return value;
  try {
    return JSON.parse(readFileSync(value, 'utf8'));
  } catch (error) {
    const why = error instanceof SyntaxError ? 'is not JSON' : 'cannot be read';
    throw new Error(`--${name}: the file ${value} ${why}.`);
  }
}
