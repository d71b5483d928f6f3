import { ServiceError } from '../foundation/service-error.ts';
import { type Flags, type FlagValues, readFlags } from './flags.ts';

/** Texts of a command: what it does, and how it is typed. */
interface Definition {
  /** The noun and the verb, which may be many words: `login-apps tokens create`. */
  words: string;
  summary: string;
  /** A command that prints lines instead of one JSON object. */
  pages?: Pages;
  /** The field of the result that is printed as it is, unless JSON is asked for. */
  text?: string;
  /** Flags that the command line keeps to itself, with their help: each names a file on the caller's machine. */
  files?: Record<string, string>;
}

/** A way to find out before a command what it would take away although its words don't say so. */
interface Removes<Values> {
  /** The command that shows what there is, and those flags that it takes too. */
  shownBy: { noun: string; verb: string; flags: string[] };
  /** The names of what would be gone. @param shown the result of that command */
  list: (flags: Values, shown: Record<string, unknown>) => string[];
}

/** The way in which the lines of a command come: each call's result has some of them, and a `next` if there are more. */
export interface Pages {
  /** The field of the result that holds them. */
  members: string;
  /** The flag that takes the `next` of the result before. */
  from: string;
}

/** Carries a command out. @param operator the ARN of who calls @throws ServiceError when nothing was changed */
type Run<Values> = (flags: Values, operator: string) => Promise<Record<string, unknown>>;

/** An operator command. The command line and the operator function both read this record. */
export interface Command extends Definition {
  noun: string;
  verb: string;
  flags: Flags;
  removes?: Removes<Record<string, unknown>>;
  run: Run<Record<string, unknown>>;
}

/** Writes down a command; what its function gets follows from the schemas of the flags. */
export function defineCommand<Taken extends Flags>({
  run,
  removes,
  ...record
}: Definition & {
  flags: Taken;
  removes?: Removes<FlagValues<Taken>>;
  run: Run<FlagValues<Taken>>;
}): Command {
  const [noun = '', ...verb] = record.words.split(' ');
  return {
    ...record,
    noun,
    verb: verb.join(' '),
    ...(removes && {
      removes: {
        ...removes,
        list: (given, shown) => {
          const read = readFlags(record.flags, given);
          return 'values' in read ? removes.list(read.values, shown) : [];
        },
      },
    }),
    run: async (given, operator) => {
      const read = readFlags(record.flags, given);
      if ('values' in read) return run(read.values, operator);
      throw new ServiceError('invalid_request', `${record.words}: ${read.problems.join('; ')}.`);
    },
  };
}
