import * as v from 'valibot';
import { type IdForm, idForms } from '../foundation/ids.ts';
import { ServiceError } from '../foundation/service-error.ts';

export interface Flag<Schema extends v.GenericSchema = v.GenericSchema> {
  /**
   * Values of `id`, `number`, `choice`, `subset` and `switch` are logged, others never are; a `number` is an id too.
   * `lines` is a file that the command line sends line by line, in batches; its name is typed without a flag. A `secret`
   * is typed as the name of a file that holds it (`--app-secret-file`), so that it stays out of the shell's history.
   */
  kind: 'id' | 'number' | 'choice' | 'subset' | 'switch' | 'text' | 'secret' | 'json' | 'lines';
  help: string;
  /** The placeholder of the value in the help. */
  placeholder: string;
  /** The schema of the value. Its messages go on after the flag's name: `must be an integer`. */
  schema: Schema;
  /** Only of `lines`: which of them the command must get together. */
  grouping?: Grouping;
  /** The command, or commands, that show such ids. */
  from?: string | undefined;
  optional?: true;
}

/** The group that a line belongs to, and what no line of another group may have; undefined for a line that is wrong. */
export type Grouping = (line: object) => { group: string; member: string } | undefined;

/** The flags of a command, by name. */
export type Flags = Record<string, Flag>;

/** The values of a command's flags, by name. */
export type FlagValues<Taken extends Flags> = { [Name in keyof Taken]: v.InferOutput<Taken[Name]['schema']> };

const anyTextSchema = v.string('must be text');
const someTextSchema = v.pipe(
  anyTextSchema,
  v.check((value) => value.trim() !== '', 'must not be empty'),
);
const integer = 'must be an integer';

const flag = <Schema extends v.GenericSchema>(
  kind: Flag['kind'],
  placeholder: string,
  help: string,
  schema: Schema,
): Flag<Schema> => ({ kind, placeholder, help, schema });

export const id = (form: IdForm, help: string, from?: string) => ({
  ...flag(
    'id',
    form,
    help,
    v.pipe(anyTextSchema, v.regex(idForms[form], `must be a complete id of the form ${form}`)),
  ),
  from,
});
export const number = (help: string) =>
  flag('number', 'number', help, v.pipe(v.number(integer), v.safeInteger(integer)));
export const choice = <const Choices extends readonly string[]>(of: Choices, help: string) =>
  flag('choice', of.join('|'), help, v.picklist(of, `must be one of ${of.join(', ')}`));
/** Some members of a whole, separated by commas; or `all`, or `none`. */
export const subset = (of: readonly string[], help: string) => {
  const isSome = (value: string) => value.split(',').every((member) => of.includes(member));
  const message = `must be all, none, or some of ${of.join(', ')}, separated by commas`;
  const isSubset = v.check((value: string) => ['all', 'none'].includes(value) || isSome(value), message);
  return flag('subset', 'list', help, v.pipe(anyTextSchema, isSubset));
};
/** Functions and their versions: `issue-token:11,add-comment:7`. */
export const versions = (help: string) => {
  const form = /^[a-z-]{1,40}:[1-9]\d{0,9}(,[a-z-]{1,40}:[1-9]\d{0,9})*$/;
  const message = 'must be functions and versions, as in issue-token:11,add-comment:7';
  return flag(
    'subset',
    'list',
    help,
    v.pipe(anyTextSchema, v.maxLength(1000, message), v.regex(form, message)),
  );
};
/** Given or not, without a value. */
export const onOff = (help: string) => optional(flag('switch', '', help, v.literal(true, 'takes no value')));
export const text = (help: string) => flag('text', 'text', help, someTextSchema);
export const textOrNone = (help: string) => flag('text', 'text', help, anyTextSchema);
export const secret = (help: string) => flag('secret', 'FILE', help, someTextSchema);
export const json = (help: string) => flag('json', 'FILE.json', help, v.unknown());
export const lines = (help: string, grouping?: Grouping) => ({
  ...flag('lines', 'FILE.ndjson', help, v.unknown()),
  ...(grouping && { grouping }),
});

/** A flag that may be left out. */
export const optional = <Schema extends v.GenericSchema>(needed: Flag<Schema>) => ({
  ...needed,
  optional: true as const,
  schema: v.optional(needed.schema),
});

/**
 * The values of a command's flags. The command line asks before it calls the operator function, and the function asks
 * again, since anything with IAM permission can invoke it.
 * @param words of the command, which an error begins with
 * @throws ServiceError with each reason why the command cannot be carried out with these
 */
export function readFlags<Taken extends Flags>(
  words: string,
  known: Taken,
  given: Record<string, unknown>,
): FlagValues<Taken> {
  const unknown = Object.keys(given)
    .filter((name) => !Object.hasOwn(known, name))
    .map((name) => `there is no flag --${name}`);
  const wrong = Object.entries(known).flatMap(([name, flag]) => problem(name, flag, given[name]) ?? []);
  const problems = [...unknown, ...wrong];
  if (problems.length > 0) throw new ServiceError('invalid_request', `${words}: ${problems.join('; ')}.`);
  return v.parse(
    v.custom<FlagValues<Taken>>(() => true),
    given,
  );
}

/** The flags of a command that go into the log: no text that an operator wrote or pasted. */
export function loggedFlags(known: Flags, given: Record<string, unknown>): Record<string, unknown> {
  const wellFormed = Object.entries(known).filter(
    ([name, flag]) => given[name] !== undefined && problem(name, flag, given[name]) === undefined,
  );
  const logged = wellFormed.flatMap(([name, { kind }]) => {
    const field = name.replaceAll('-', '_');
    if (kind === 'id' || kind === 'number')
      return [[field.endsWith('id') ? field : `${field}_id`, given[name]]];
    return kind === 'choice' || kind === 'subset' || kind === 'switch' ? [[field, given[name]]] : [];
  });
  return Object.fromEntries(logged);
}

/** A flag's name on the command line: a secret is given as the name of a file. */
export const typedName = (name: string, { kind }: Flag): string =>
  kind === 'secret' ? `${name}-file` : name;

function problem(name: string, flag: Flag, value: unknown): string | undefined {
  const typed = `--${typedName(name, flag)}`;
  if (value === undefined) return flag.optional ? undefined : `${typed} is missing${sourceOf(flag)}`;
  const { issues: [issue] = [] } = v.safeParse(flag.schema, value, { abortPipeEarly: true });
  return issue && `${typed} ${issue.message}${sourceOf(flag)}`;
}

/** Advice on where the operator finds the id that a flag takes. */
export const sourceOf = ({ from }: Flag): string => (from === undefined ? '' : ` (see ${from})`);

/** The members that a flag of the kind `subset` names, in the order of the whole; undefined for all of them. */
export function membersOf<Member extends string>(given: string, of: readonly Member[]): Member[] | undefined {
  if (given === 'all') return undefined;
  const named = given.split(',');
  return of.filter((member) => named.includes(member));
}
