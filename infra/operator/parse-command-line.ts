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
      /** The file whose lines the command takes, and the flag that they go into, a batch at a time. */
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
    .flatMap(({ flags }) => Object.entries(flags))
    .filter(([, { kind }]) => kind !== 'lines')
    .map(([name]) => [name, text]),
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
  if (words.length === 0 || values.help) return { help: true, noun, verb: verbWords.join(' ') || undefined };

  const typed = tokens.filter((token) => token.kind === 'option');
  const unknown = typed.find(({ name }) => !Object.hasOwn(options, name));
  if (unknown) throw new Error(`There is no flag ${unknown.rawName}. See --help.`);
  const { verb, command, rest } = findCommand(noun, verbWords);
  for (const { name, rawName, value } of typed) {
    if (Object.hasOwn(command.flags, name) && (value === undefined || value.startsWith('--'))) {
      throw new Error(
        `The flag ${rawName} needs a value; write ${rawName}=… for one that begins with a dash.`,
      );
    }
  }

  const lineFlag = Object.keys(command.flags).find((name) => command.flags[name]?.kind === 'lines');
  const [file] = rest;
  if (lineFlag !== undefined && file === undefined) {
    throw new Error(`${noun} ${verb}: name a file, as in ${noun} ${verb} FILE.ndjson.`);
  }
  if (rest.length > (lineFlag === undefined ? 0 : 1)) {
    throw new Error('There are words that belong to no flag; quote values that hold spaces.');
  }
  const { local, stack, ...given } = { ...values, ...(lineFlag !== undefined && { [lineFlag]: file }) };
  const flags = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, flagValue(name, command.flags[name], String(value))]),
  );
  const problems = flagProblems(command, flags);
  if (problems.length > 0) throw new Error(`${noun} ${verb}: ${problems.join('; ')}.`);
  const target: Target = local ? { local: true } : { local: false, stack: String(stack ?? 'login-service') };
  const lines = lineFlag === undefined ? undefined : { flag: lineFlag, file: String(file) };
  return { help: false, noun: String(noun), verb, flags, lines, target };
}

/** The command that the words begin with (a verb may have two: tokens create), and the words left over. */
function findCommand(
  noun: string | undefined,
  words: string[],
): { verb: string; command: Command; rest: string[] } {
  const verbs = noun !== undefined && Object.hasOwn(nouns, noun) ? nouns[noun] : undefined;
  if (!verbs) throw new Error(`There is no noun ${noun ?? ''}. See --help.`);
  for (const length of [2, 1]) {
    const verb = words.slice(0, length).join(' ');
    const command = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
    if (command) return { verb, command, rest: words.slice(length) };
  }
  throw new Error(`${noun} has the verbs ${Object.keys(verbs).join(', ')}. See --help.`);
}

function flagValue(name: string, flag: Flag | undefined, value: string): unknown {
  if (flag?.kind === 'number') return /^\d+$/.test(value) ? Number(value) : value;
  if (flag?.kind !== 'json') return value;
  try {
    return JSON.parse(readFileSync(value, 'utf8'));
  } catch (error) {
    const why = error instanceof SyntaxError ? 'is not JSON' : 'cannot be read';
    throw new Error(`--${name}: the file ${value} ${why}.`);
  }
}
