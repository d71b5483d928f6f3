import { readFileSync } from 'node:fs';
import { Command, CommanderError, Help, Option } from 'commander';
import {
  type Flag,
  type Grouping,
  type Command as OperatorCommand,
  readFlags,
  sourceOf,
  typedName,
} from '../../lib/operator/command.ts';
import { commands } from '../../lib/operator/commands/index.ts';
import { operatorCommand, startCommand } from '../version.ts';
import { fromCaller } from './files/caller-folder.ts';
import { placeOfJsonError } from './files/place-of-json-error.ts';
import type { Target } from './target.ts';

export interface CommandLine extends Pick<OperatorCommand, 'words' | 'pages' | 'text'> {
  flags: Record<string, unknown>;
  /**
   * The file whose lines the command sends, the flag that carries a batch of them, and which belong
   * together.
   */
  lines: { flag: string; file: string; grouping: Grouping | undefined } | undefined;
  /** Absolute paths of files on this machine, by the flags that name them. */
  files: Record<string, string>;
  /** Undefined when the words name none. */
  target: Target | undefined;
  /** Whether --yes answers the question before a deletion or a revocation. */
  isConfirmed: boolean;
  /** Whether --json asks for JSON on a terminal, too. */
  isJson: boolean;
}

/** The parts of a command line that differ by command. */
type Typed = Pick<CommandLine, 'flags' | 'lines' | 'files'>;

/** A command line about a whole stack, rather than a command of its operator function. */
export interface StackLine extends Pick<CommandLine, 'target' | 'isConfirmed' | 'isJson'> {
  about: (typeof aboutStacks)[number][0];
  functions: string[];
}

/**
 * Reads the command that the words say, or the help that they ask for.
 * @throws Error of one line for people
 */
export function parseCommandLine(words: string[]): CommandLine | StackLine | { help: string } {
  const parsed: (CommandLine | StackLine)[] = [];
  const written: string[] = [];
  const write = (text: string): void => void written.push(text);
  const program = new Command(operatorCommand)
    .exitOverride()
    .configureOutput({ writeOut: write, writeErr: write })
    .configureHelp({
      showGlobalOptions: true,
      subcommandTerm: wordsOf,
      // Only here: the suggestions for a mistyped command come from visibleCommands too.
      formatHelp: (command, help) =>
        new Help().formatHelp(command, Object.assign(help, { visibleCommands: leavesOf })),
    })
    .helpCommand(false)
    .option('--local', `the stack that ${startCommand} runs on this machine`)
    .addOption(new Option('--stack <name>', 'the deployed stack with this name').conflicts('local'))
    .option('--yes', 'delete, revoke, remove or move a release without asking')
    .option('--json', 'JSON also on a terminal, where list, show and find print tables');
  for (const [about, summary] of aboutStacks) {
    const command = commandAt(program, about).description(summary);
    if (/back|forward/.test(about))
      command.option(
        '--function <name...>',
        'Only these functions, such as issue-token (optional)',
      );
    command.action(() => {
      const { function: functions = [] } = command.opts();
      parsed.push({ about, functions, ...globalOptions(program) });
    });
  }
  for (const record of commands.values()) {
    const command = commandAt(program, record.words).description(record.summary);
    command.addHelpText('after', `\nExample:\n  ${exampleOf(record)}`);
    const typed: Typed = { flags: {}, lines: undefined, files: {} };
    for (const [name, flag] of Object.entries(record.flags)) addFlag(command, name, flag, typed);
    for (const [name, help] of Object.entries(record.files ?? {}))
      command
        .option(`--${name} <FILE>`, help)
        .on(`option:${name}`, (file) => (typed.files[name] = fromCaller(file)));
    command.action(() => {
      readFlags(record.words, record.flags, typed.flags);
      parsed.push({ ...record, ...typed, ...globalOptions(program) });
    });
  }
  try {
    program.parse(words, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (words.length > 0 && error.code !== 'commander.helpDisplayed')
      throw new Error(lineOf(error, innermostIn(program, words)));
  }
  return parsed[0] ?? { help: written.join('').trimEnd() };
}

/** Commands that the operator function doesn't carry out, with their summaries. */
const aboutStacks = [
  ['check', 'Try a stack out: issue a token, verify it, search, and report what is wrong'],
  ['release show', 'Show which versions are live, since when, and their errors'],
  [
    'release back',
    'Take the last deployment back within seconds: make the versions before it live',
  ],
  ['release forward', 'Make the versions live that were deployed last, after a release back'],
] as const;

function globalOptions(program: Command): Pick<CommandLine, 'target' | 'isConfirmed' | 'isJson'> {
  const { local, stack, yes = false, json = false } = program.opts();
  if (stack === '') throw new Error('--stack must not be empty.');
  const deployed = stack === undefined ? undefined : ({ local: false, stack } as const);
  return { target: local ? { local } : deployed, isConfirmed: yes, isJson: json };
}

/** The command with this name, which may be many words: `login-apps tokens create`. */
const commandAt = (program: Command, words: string): Command =>
  words
    .split(' ')
    .reduce((parent, word) => commandIn(parent, word) ?? parent.command(word), program);

const commandIn = ({ commands }: Command, word?: string) =>
  commands.find((one) => one.name() === word);

/**
 * A command for the stack on this machine, as typed in a shell whose variables hold the ids and the
 * texts.
 */
export function exampleOf({ words, flags, example }: OperatorCommand): string {
  const needed = Object.entries(flags).filter(([, flag]) => !flag.optional);
  const typed = needed.map(([name, flag]) => {
    const [, file] = flag.placeholder.match(/^FILE(.*)/) ?? [];
    const variable = `"$${name.toUpperCase().replaceAll('-', '_')}"`;
    const value = file === undefined ? variable : `${name}${file || '.txt'}`;
    if (flag.kind === 'lines') return value;
    const [choice] = flag.kind === 'choice' ? flag.placeholder.split('|') : [value];
    return `--${typedName(name, flag)} ${flag.kind === 'subset' ? 'all' : choice}`;
  });
  return [operatorCommand, words, example ?? typed.join(' '), '--local'].filter(Boolean).join(' ');
}

/**
 * Declares a flag, whose value goes to what was typed. The file of a flag for lines is an argument
 * without a name.
 */
function addFlag(command: Command, name: string, flag: Flag, typed: Typed): void {
  const isChoice = flag.kind === 'choice';
  const choices = isChoice ? `: ${flag.placeholder.replaceAll('|', ', ')}` : '';
  const help = `${flag.help}${choices}${sourceOf(flag)}${flag.optional ? ' (optional)' : ''}`;
  const placeholder = `<${isChoice ? 'choice' : flag.placeholder}>`;
  if (flag.kind === 'lines') {
    command.argument(placeholder, help, (file) => {
      typed.lines = { flag: name, file: fromCaller(file), grouping: flag.grouping };
      // Checked as a batch of lines is.
      typed.flags[name] = [];
    });
    return;
  }
  const typedAs = typedName(name, flag);
  const isSwitch = flag.kind === 'switch';
  command
    .option(isSwitch ? `--${typedAs}` : `--${typedAs} ${placeholder}`, help)
    .on(
      `option:${typedAs}`,
      (text) => (typed.flags[name] = isSwitch || convert(typedAs, flag, text)),
    );
}

function convert(name: string, { kind }: Flag, text: string): unknown {
  if (kind === 'number') return /^\d+$/.test(text) ? Number(text) : text;
  if (kind !== 'json' && kind !== 'secret') return text;
  const content = readGiven(name, text);
  // An editor ends the line; the secret doesn't.
  if (kind === 'secret') return content.replace(/\r?\n$/, '');
  const place = placeOfJsonError(content);
  if (place !== undefined)
    throw new Error(`--${name}: ${givenAs(text)} is not JSON: see ${place}.`);
  return JSON.parse(content);
}

function readGiven(name: string, file: string): string {
  try {
    return readFileSync(file === '-' ? standardInput : fromCaller(file), 'utf8');
  } catch {
    throw new Error(`--${name}: ${givenAs(file)} cannot be read.`);
  }
}

const givenAs = (file: string): string =>
  file === '-' ? 'standard input' : `the file ${fromCaller(file)}`;
const standardInput = 0;

const leavesOf = ({ commands }: Command): Command[] =>
  commands.flatMap((command) => (command.commands.length > 0 ? leavesOf(command) : [command]));

const wordsOf = (command: Command): string =>
  command.parent?.parent ? `${wordsOf(command.parent)} ${command.name()}` : command.name();

const innermostIn = (group: Command, [word, ...words]: string[]): Command => {
  const named = commandIn(group, word);
  return named ? innermostIn(named, words) : group;
};

function lineOf({ code, message }: CommanderError, command: Command): string {
  const choices = chooseOneOf(command.commands.map((one) => one.name()));
  if (code === 'commander.help') return `The command is incomplete. ${choices}`;
  const line = message.replace(/^error: |\.$/g, '').replace('\n', ' ');
  if (code === 'commander.unknownOption') return aboutOption(line, command);
  return `${line}. ${code === 'commander.unknownCommand' ? choices : 'See --help.'}`;
}

const chooseOneOf = (choices: string[]): string => `Choose one of ${choices.join(', ')}.`;

/**
 * A line about an unknown option, with the one that was meant, or all, but without the value that
 * was typed.
 */
function aboutOption(message: string, { options }: Command): string {
  const line = message.replace(/=.*'/s, "'");
  const [, typed] = line.match(/'(.*)'/) ?? [];
  const flags = options.flatMap(({ long }) => long ?? []);
  const longer = flags.find((flag) => flag.startsWith(`${typed}-`));
  if (longer !== undefined) return `${line} (Did you mean ${longer}?). See --help.`;
  return line.endsWith("'") && flags.length > 0
    ? `${line}. ${chooseOneOf(flags)}`
    : `${line}. See --help.`;
}
