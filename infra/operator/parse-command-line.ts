import { Command, CommanderError, Option } from 'commander';
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
import { lineOf } from './command-line-errors.ts';
import { fromCaller } from './files/caller-folder.ts';
import { placeOfJsonError } from './files/place-of-json-error.ts';
import { readText } from './files/utf8-file.ts';
import { addNouns, exampleOf, helpConfiguration, helpOfNouns } from './help.ts';
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

/** Takes the line that was parsed: commander calls the action of one command. */
type Accept = (line: CommandLine | StackLine) => void;

/**
 * Reads the command that the words say, or the help that they ask for.
 * @throws Error of one line for people
 */
export function parseCommandLine(words: string[]): CommandLine | StackLine | { help: string } {
  const parsed: (CommandLine | StackLine)[] = [];
  const accept: Accept = (line) => void parsed.push(line);
  const written: string[] = [];
  const write = (text: string): void => void written.push(text);
  const program = newProgram(write);
  addNouns(program);
  for (const [about, summary] of aboutStacks) addStackCommand(program, about, summary, accept);
  for (const record of commands.values()) addOperatorCommand(program, record, accept);
  try {
    program.parse(words, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Commander throws for help, too, which it has written.
    const isHelp = words.length === 0 || error.code === 'commander.helpDisplayed';
    if (!isHelp) throw new Error(lineOf(error, innermostIn(program, words)));
  }
  const [line] = parsed;
  return line ?? { help: written.join('').trimEnd() };
}

/** Makes a command line that has no commands yet, with the options of all commands. */
function newProgram(write: (text: string) => void): Command {
  return new Command(operatorCommand)
    .usage('[options] NOUN VERB')
    .exitOverride()
    .configureOutput({ writeOut: write, writeErr: write })
    .configureHelp(helpConfiguration)
    .addHelpText('after', helpOfNouns)
    .helpCommand(false)
    .option('--local', `the stack that ${startCommand} runs on this machine`)
    .addOption(new Option('--stack <name>', 'the deployed stack with this name').conflicts('local'))
    .option('--yes', 'carry out without asking what would ask first')
    .option('--json', 'JSON on a terminal, too, in place of tables');
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

function addStackCommand(
  program: Command,
  about: StackLine['about'],
  summary: string,
  accept: Accept,
): void {
  const command = commandAt(program, about).description(summary);
  const movesFunctions = about === 'release back' || about === 'release forward';
  if (movesFunctions)
    command.option('--function <name...>', 'Only these functions, such as issue-token (optional)');
  command.action(() => {
    const { function: functions = [] } = command.opts();
    accept({ about, functions, ...globalOptions(program) });
  });
}

function addOperatorCommand(program: Command, record: OperatorCommand, accept: Accept): void {
  const isHidden = record.isMachinery ?? false;
  const command = commandAt(program, record.words, isHidden).description(record.summary);
  command.addHelpText('after', `\nExample:\n  ${exampleOf(record)}`);
  const typed: Typed = { flags: {}, lines: undefined, files: {} };
  for (const [name, flag] of Object.entries(record.flags)) addFlag(command, name, flag, typed);
  for (const [name, help] of Object.entries(record.files ?? {}))
    addFile(command, name, help, typed);
  command.action(() => {
    readFlags(record.words, record.flags, typed.flags);
    accept({ ...record, ...typed, ...globalOptions(program) });
  });
}

function globalOptions(program: Command): Pick<CommandLine, 'target' | 'isConfirmed' | 'isJson'> {
  const { local, stack, yes = false, json = false } = program.opts();
  if (stack === '') throw new Error('--stack must not be empty.');
  const deployed = stack === undefined ? undefined : ({ local: false, stack } as const);
  return { target: local ? { local } : deployed, isConfirmed: yes, isJson: json };
}

/**
 * The command with this name, which may be many words: `login-apps tokens create`. It is made if it
 * is missing, with the groups that it belongs to.
 * @param isHidden whether the help leaves out what is made
 */
function commandAt(program: Command, words: string, isHidden = false): Command {
  let command = program;
  for (const word of words.split(' '))
    command = commandIn(command, word) ?? command.command(word, { hidden: isHidden });
  return command;
}

const commandIn = ({ commands }: Command, word?: string) =>
  commands.find((one) => one.name() === word);

/** The innermost command, or group of commands, that the first words name. */
function innermostIn(group: Command, [word, ...words]: string[]): Command {
  const named = commandIn(group, word);
  return named ? innermostIn(named, words) : group;
}

/** Declares a flag, whose value goes to what was typed. */
function addFlag(command: Command, name: string, flag: Flag, typed: Typed): void {
  const isChoice = flag.kind === 'choice';
  const choices = isChoice ? `: ${flag.placeholder.replaceAll('|', ', ')}` : '';
  const optional = flag.optional ? ' (optional)' : '';
  const help = `${flag.help}${choices}${sourceOf(flag)}${optional}`;
  const placeholder = `<${isChoice ? 'choice' : flag.placeholder}>`;
  const typedAs = typedName(name, flag);
  const accept = (value: unknown): void => {
    typed.flags[name] = value;
  };
  switch (flag.kind) {
    case 'lines':
      // The file is an argument without a name.
      command.argument(placeholder, help, (file) => {
        typed.lines = { flag: name, file: fromCaller(file), grouping: flag.grouping };
        // Checked as a batch of lines is.
        accept([]);
      });
      return;
    case 'switch':
      command.option(`--${typedAs}`, help).on(`option:${typedAs}`, () => accept(true));
      return;
    default:
      command
        .option(`--${typedAs} ${placeholder}`, help)
        .on(`option:${typedAs}`, (text) => accept(convert(typedAs, flag, text)));
  }
}

/** Declares a flag that names a file on this machine. */
function addFile(command: Command, name: string, help: string, typed: Typed): void {
  command.option(`--${name} <FILE>`, help).on(`option:${name}`, (file) => {
    typed.files[name] = fromCaller(file);
  });
}

/** The value that a flag's text stands for; a file's content, for a flag that names a file. */
function convert(name: string, { kind }: Flag, text: string): unknown {
  if (kind === 'number' || kind === 'count') return /^\d+$/.test(text) ? Number(text) : text;
  if (kind !== 'json' && kind !== 'secret') return text;
  const content = readGiven(name, text);
  // An editor ends the line; the secret doesn't.
  if (kind === 'secret') return content.replace(/\r?\n$/, '');
  const place = placeOfJsonError(content);
  if (place !== undefined)
    throw new Error(`--${name}: ${givenAs(text)} is not JSON: see ${place}.`);
  return JSON.parse(content);
}

const readGiven = (name: string, file: string): string =>
  readText(`--${name}: ${givenAs(file)}`, file === '-' ? standardInput : fromCaller(file));

const givenAs = (file: string): string =>
  file === '-' ? 'standard input' : `the file ${fromCaller(file)}`;
const standardInput = 0;
