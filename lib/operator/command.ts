import * as v from 'valibot';
import { type IdForm, idForms } from '../foundation/ids.ts';
import { invalid, ServiceError } from '../foundation/service-error.ts';
import { importLinesSchema } from '../schema/import-lines.ts';
import { steeringCharacter } from '../schema/plain-text.ts';

/**
 * An operator command, read by the command line and by the operator function. `Taken` are its
 * flags.
 */
interface Definition<Taken extends Flags> {
  summary: string;
  flags: Taken;
  /** The flags of its example, where its required ones alone don't make one. */
  example?: string;
  /** Set if the service, or another command, does this by itself: the help of its noun hides it. */
  isMachinery?: true;
  /** Set for a command that prints lines instead of one JSON object. */
  pages?: Pages;
  /** The field of the result that is printed as it is, unless JSON is asked for. */
  text?: string;
  /**
   * Flags that the command line keeps to itself, with their help: each names a file on the caller's
   * machine.
   */
  files?: Record<string, string>;
  /**
   * Carries the command out.
   * @param operator the caller's ARN
   * @throws ServiceError when nothing was changed
   */
  run(flags: FoundValues<Taken>, operator: string): Promise<object>;
}

/**
 * How the lines of a command come: each result has some of them, and a `next` if there are more.
 */
export interface Pages {
  /** The field of the result that holds them. */
  members: string;
  /** The flag that takes the `next` of the result before. */
  from: string;
  /**
   * The fields of a member that are its columns with `--format csv`, where the command has that
   * flag.
   */
  columns?: readonly string[];
}

export interface Command extends Definition<Flags> {
  /** The noun and the verb, which may be many words: `login-apps tokens create`. */
  words: string;
}

/** Commands that take something away from somebody, or give it back. A probe is nobody's. */
const takesAway =
  /^(?!probes ).* (block|unblock|disable|enable|logout|undo-logout|delete|revoke|remove|update)$|^identities add$/;

/** Makes commands of their definitions by words. Each checks its flags when it runs. */
export const defineCommands = <const Taken extends Record<string, Flags>>(
  definitions: {
    [Words in keyof Taken]: Definition<Taken[Words]>;
  },
): Command[] =>
  Object.entries<Definition<Flags>>(definitions).map(([words, definition]) => {
    const flags: Flags = takesAway.test(words) ? { ...definition.flags, reason } : definition.flags;
    return {
      ...definition,
      words,
      flags,
      async run(given, operator) {
        const values = readFlags(words, flags, given);
        for (const [name, { find }] of Object.entries(flags))
          if (find) values[name] = await find(values[name]);
        return definition.run(values, operator);
      },
    };
  });

export interface Flag<Schema extends v.GenericSchema = v.GenericSchema> {
  /**
   * Values of `id`, `number`, `count`, `choice`, `subset` and `switch` are logged, others never
   * are; a `number` is an id too, a `count` is not. `lines` is a file that the command line sends line by line, in batches;
   * its name is typed without a flag. A `secret` is typed as the name of a file that holds it
   * (`--app-secret-file`), so that it stays out of the shell's history.
   */
  kind:
    | 'id'
    | 'number'
    | 'count'
    | 'choice'
    | 'subset'
    | 'switch'
    | 'text'
    | 'reason'
    | 'secret'
    | 'json'
    | 'lines';
  help: string;
  /** The placeholder of the value in the help. */
  placeholder: string;
  /** The schema of the value. Its messages go on after the flag's name: `must be an integer`. */
  schema: Schema;
  /** Only of `lines`: which of them the command must get together. */
  grouping?: Grouping | undefined;
  /** The command, or commands, that show such ids. */
  from?: string | undefined;
  optional?: true;
  /**
   * Finds what the id stands for, which the command gets in its place.
   * @throws ServiceError when there is none
   */
  find?(id: unknown): Promise<unknown>;
}

/**
 * The group that a line belongs to, and what no line of another group may have; undefined for a
 * line that is wrong.
 */
export type Grouping = (line: object) => { group: string; member: string } | undefined;

type Flags = Record<string, Flag>;

export type FlagValues<Taken extends Flags> = {
  [Name in keyof Taken]: v.InferOutput<Taken[Name]['schema']>;
};
/** The values of a command's flags, where `find` replaces ids by what they stand for. */
type FoundValues<Taken extends Flags> = {
  [Name in keyof Taken]: Taken[Name] extends { find(id: never): Promise<infer Found> }
    ? Found
    : FlagValues<Taken>[Name];
};

const anyTextSchema = v.string('must be text');
const someTextSchema = v.pipe(anyTextSchema, v.regex(/\S/, 'must not be empty'));
const integer = 'must be an integer';

const flag = <Schema extends v.GenericSchema>(
  kind: Flag['kind'],
  placeholder: string,
  help: string,
  schema: Schema,
): Flag<Schema> => ({ kind, placeholder, help, schema });

export const id = (form: IdForm, help: string, from?: string) => {
  const isId = v.regex(idForms[form], `must be a complete id of the form ${form}`);
  return { ...flag('id', form, help, v.pipe(anyTextSchema, isId)), from };
};
export const number = (help: string) =>
  flag('number', 'number', help, v.pipe(v.number(integer), v.safeInteger(integer)));
/** How many of something: an integer from a least to a greatest. */
export const count = (help: string, [least, greatest]: [number, number]) => {
  const message = `must be an integer from ${least} to ${greatest}`;
  return flag(
    'count',
    'number',
    help,
    v.pipe(
      v.number(message),
      v.integer(message),
      v.minValue(least, message),
      v.maxValue(greatest, message),
    ),
  );
};
export const choice = <const Choices extends readonly string[]>(of: Choices, help: string) =>
  flag('choice', of.join('|'), help, v.picklist(of, `must be one of ${of.join(', ')}`));
/**
 * Some members of a whole, in its order, given separated by commas or as `none`; undefined for
 * `all`.
 */
export const subset = <Member extends string>(of: readonly Member[], help: string) => {
  const message = `must be all, none, or some of ${of.join(', ')}, separated by commas`;
  const isSubset = v.check(
    (value: string) => value === 'all' || value === 'none' || areMembers(of, value),
    message,
  );
  const members = v.transform((value: string) =>
    value === 'all' ? undefined : membersIn(of, value),
  );
  return flag('subset', 'list', help, v.pipe(anyTextSchema, isSubset, members));
};

/** Some members of a whole, in its order, given separated by commas. */
export const some = <Member extends string>(of: readonly Member[], help: string) => {
  const message = `must be some of ${of.join(', ')}, separated by commas`;
  const isSome = v.check((value: string) => areMembers(of, value), message);
  const members = v.transform((value: string) => membersIn(of, value));
  return flag('subset', 'list', help, v.pipe(anyTextSchema, isSome, members));
};

/** Whether a text names members of a whole alone, separated by commas. */
function areMembers(whole: readonly string[], text: string): boolean {
  return text.split(',').every((name) => whole.includes(name));
}

/** The members of a whole that a text names, in the order of the whole. */
function membersIn<Member extends string>(whole: readonly Member[], text: string): Member[] {
  const names = text.split(',');
  return whole.filter((member) => names.includes(member));
}

/** Functions and their versions: `issue-token:11,add-comment:7`. */
export const versions = (help: string) => {
  const form = /^[a-z-]{1,40}:[1-9]\d{0,9}(,[a-z-]{1,40}:[1-9]\d{0,9})*$/;
  const message = 'must be functions and versions, as in issue-token:11,add-comment:7';
  const areVersions = v.pipe(anyTextSchema, v.maxLength(1000, message), v.regex(form, message));
  return flag('subset', 'list', help, areVersions);
};
/** Given or not, without a value. */
export const onOff = (help: string) =>
  optional(flag('switch', '', help, v.literal(true, 'takes no value')));
export const text = (help: string) => flag('text', 'text', help, someTextSchema);
export const textOrNone = (help: string) => flag('text', 'text', help, anyTextSchema);
export const secret = (help: string) => flag('secret', 'FILE', help, someTextSchema);
export const json = (help: string) => flag('json', 'FILE.json', help, v.nonOptional(v.unknown()));
export const lines = (help: string, grouping?: Grouping) => ({
  ...flag('lines', 'FILE.ndjson', help, importLinesSchema),
  grouping,
});

/**
 * Returns what a command found or changed.
 * @throws ServiceError when there is none: it is undefined, or false
 */
export function existing<Found>(found: Found | undefined | false, kind: string): Found {
  if (found) return found;
  throw new ServiceError('not_found', `There is no such ${kind}.`);
}

/** A flag whose command gets what the id stands for. */
export const found = <Schema extends v.GenericSchema, Found>(
  named: Flag<Schema>,
  kind: string,
  read: (id: v.InferOutput<Schema>) => Promise<Found | undefined>,
) => ({ ...named, find: async (id: v.InferOutput<Schema>) => existing(await read(id), kind) });

export const optional = <Schema extends v.GenericSchema>(needed: Flag<Schema>) => ({
  ...needed,
  optional: true as const,
  schema: v.optional(needed.schema),
});

const reasonForm = 'must be up to 200 characters on one line';
/**
 * Why an operator takes something away. It is the one text of an operator that is logged: in the
 * audit log.
 */
export const neededReason = flag(
  'reason',
  'text',
  'Why, for the audit log; a ticket says more than a name',
  v.pipe(
    someTextSchema,
    v.check((given) => !steeringCharacter.test(given), reasonForm),
    v.maxCodePoints(200, reasonForm),
  ),
);
const reason = optional(neededReason);

/**
 * Checks and reads flags; the function repeats it, as it can be invoked directly.
 * @throws ServiceError with every problem
 */
export function readFlags<Taken extends Flags>(
  words: string,
  known: Taken,
  given: Record<string, unknown>,
) {
  const values: Record<string, unknown> = {};
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(known, name));
  const problems = unknown.map((name) => `there is no flag --${name}`);
  for (const [name, flag] of Object.entries(known)) {
    const value = given[name];
    const read = v.safeParse(flag.schema, value);
    if (read.success) values[name] = read.output;
    else {
      const problem = value === undefined ? 'is missing' : read.issues[0].message;
      problems.push(`--${typedName(name, flag)} ${problem}${sourceOf(flag)}`);
    }
  }
  if (problems.length > 0) throw invalid(`${words}: ${problems.join('; ')}.`);
  const typed = v.custom<FlagValues<Taken>>(() => true);
  return v.parse(typed, values);
}

const loggedKinds: Flag['kind'][] = ['id', 'number', 'count', 'choice', 'subset', 'switch'];

/** The flags of a command that go into the log: no text that an operator wrote or pasted. */
export function loggedFlags(known: Flags, given: Record<string, unknown>): Record<string, unknown> {
  const logged: Record<string, unknown> = {};
  for (const [name, flag] of Object.entries(known)) {
    const value = given[name];
    if (value === undefined || !loggedKinds.includes(flag.kind)) continue;
    // A wrong value may be anything that was pasted.
    if (v.is(flag.schema, value)) logged[loggedName(name, flag)] = value;
  }
  return logged;
}

/** The field of the log for a flag: `login_app_id` for `login-app`. */
function loggedName(name: string, { kind }: Flag): string {
  const field = name.replaceAll('-', '_');
  const isId = kind === 'id' || kind === 'number';
  return isId && !field.endsWith('id') ? `${field}_id` : field;
}

/** The reason that an operator gives, for the audit log alone. */
export function loggedReason(
  known: Flags,
  given: Record<string, unknown>,
): { operator_reason?: unknown } {
  const isGiven = known.reason?.kind === 'reason' && v.is(known.reason.schema, given.reason);
  return isGiven ? { operator_reason: given.reason } : {};
}

/** A flag's name on the command line: a secret is given as the name of a file. */
export const typedName = (name: string, { kind }: Flag) =>
  kind === 'secret' ? `${name}-file` : name;

/** Advice on where the operator finds the id that a flag takes. */
export const sourceOf = ({ from }: Flag): string => (from === undefined ? '' : ` (see ${from})`);
