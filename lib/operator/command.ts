import { type Flags, type FlagValues, readFlags } from './flags.ts';

/** An operator command. `Taken` are its flags. */
interface Definition<Taken extends Flags> {
  summary: string;
  flags: Taken;
  /** The flags of its example, where its required ones alone don't make one. */
  example?: string;
  /** A command that prints lines instead of one JSON object. */
  pages?: Pages;
  /** The field of the result that is printed as it is, unless JSON is asked for. */
  text?: string;
  /** Flags that the command line keeps to itself, with their help: each names a file on the caller's machine. */
  files?: Record<string, string>;
  /** Carries the command out. @param operator the ARN of who calls @throws ServiceError when nothing was changed */
  run: (flags: FlagValues<Taken>, operator: string) => Promise<Record<string, unknown>>;
}

/** The way in which the lines of a command come: each call's result has some of them, and a `next` if there are more. */
export interface Pages {
  /** The field of the result that holds them. */
  members: string;
  /** The flag that takes the `next` of the result before. */
  from: string;
  /** The fields of a member that are its columns with `--format csv`, where the command has that flag. */
  columns?: readonly string[];
}

/** A command, read by the command line and by the operator function; its flags are checked when it runs. */
export interface Command extends Omit<Definition<Flags>, 'run'> {
  /** The noun and the verb, which may be many words: `login-apps tokens create`. */
  words: string;
  noun: string;
  verb: string;
  run: (flags: Record<string, unknown>, operator: string) => Promise<Record<string, unknown>>;
}

/** Makes commands of their definitions, by their words. What `run` gets follows from the schemas of the flags. */
export function defineCommands<const Taken extends Record<string, Flags>>(
  definitions: {
    [Words in keyof Taken]: Definition<Taken[Words]>;
  },
): Command[] {
  const commands: Command[] = [];
  for (const words in definitions) {
    const definition = definitions[words];
    const [noun = '', ...verb] = words.split(' ');
    const run: Command['run'] = async (given, operator) =>
      definition.run(readFlags(words, definition.flags, given), operator);
    commands.push({ ...definition, words, noun, verb: verb.join(' '), run });
  }
  return commands;
}
