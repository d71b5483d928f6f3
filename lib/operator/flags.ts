import { idForms } from '../id-forms.ts';
import type { Command, Flag } from './command.ts';

type ValueOf<F extends Flag> = F extends { kind: 'choice'; of: readonly (infer Choice)[] }
  ? Choice
  : {
      id: string;
      text: string;
      secret: string;
      number: number;
      choice: string;
      subset: string;
      switch: true;
      json: unknown;
      lines: unknown;
    }[F['kind']];

/** The values of a command's flags, by name. */
export type FlagValues<C extends Command> = {
  [Name in keyof C['flags']]: C['flags'][Name] extends { optional: true }
    ? ValueOf<C['flags'][Name]> | undefined
    : ValueOf<C['flags'][Name]>;
};

/**
 * Each reason why a command cannot be carried out with these flags; none when it can. The command line asks before it
 * calls the operator function, and the function asks again, since anything with IAM permission can invoke it.
 */
export function flagProblems({ flags: known }: Command, given: Record<string, unknown>): string[] {
  const unknown = Object.keys(given)
    .filter((name) => !Object.hasOwn(known, name))
    .map((name) => `there is no flag --${name}`);
  const wrong = Object.entries(known).flatMap(([name, flag]) => problem(name, flag, given[name]) ?? []);
  return [...unknown, ...wrong];
}

/** The flags of a command that go into the log: ids, choices, subsets and switches, and no text that an operator wrote or pasted. */
export function loggedFlags({ flags }: Command, given: Record<string, unknown>): Record<string, unknown> {
  const wellFormed = Object.entries(flags).filter(
    ([name, flag]) => given[name] !== undefined && problem(name, flag, given[name]) === undefined,
  );
  const logged = wellFormed.flatMap(([name, { kind }]) => {
    const field = name.replaceAll('-', '_');
    if (kind === 'id' || kind === 'number') {
      return [[field.endsWith('id') ? field : `${field}_id`, given[name]]];
    }
    return kind === 'choice' || kind === 'subset' || kind === 'switch' ? [[field, given[name]]] : [];
  });
  return Object.fromEntries(logged);
}

/** A flag's name on the command line: a secret is given as the name of a file. */
export const typedName = (name: string, { kind }: Flag): string =>
  kind === 'secret' ? `${name}-file` : name;

function problem(flagName: string, flag: Flag, value: unknown): string | undefined {
  const { kind, optional } = flag;
  const name = typedName(flagName, flag);
  if (value === undefined) return optional ? undefined : `--${name} is missing${sourceOf(flag)}`;
  if (kind === 'json' || kind === 'lines') return undefined;
  if (kind === 'number') return Number.isSafeInteger(value) ? undefined : `--${name} must be an integer`;
  if (kind === 'switch') return value === true ? undefined : `--${name} takes no value`;
  if (typeof value !== 'string') return `--${name} must be text`;
  if (kind === 'id' && !idForms[flag.form].test(value))
    return `--${name} must be a complete id of the form ${flag.form}`;
  const mayBeEmpty = kind === 'text' && flag.mayBeEmpty;
  if ((kind === 'text' || kind === 'secret') && !mayBeEmpty && value.trim() === '')
    return `--${name} must not be empty`;
  if (kind === 'choice' && !flag.of.includes(value)) return `--${name} must be one of ${flag.of.join(', ')}`;
  if (kind === 'subset' && !isSubset(value, flag.of))
    return `--${name} must be all, none, or some of ${flag.of.join(', ')}, separated by commas`;
  return undefined;
}

/** Where the operator finds the id that a flag takes. */
export const sourceOf = (flag: Flag): string =>
  flag.kind === 'id' && flag.from !== undefined ? ` (see ${flag.from})` : '';

const isSubset = (text: string, of: readonly string[]): boolean =>
  text === 'all' || text === 'none' || text.split(',').every((member) => of.includes(member));

/** The members that a flag of the kind `subset` names, in the order of the whole; undefined for all of them. */
export function membersOf<Member extends string>(text: string, of: readonly Member[]): Member[] | undefined {
  if (text === 'all') return undefined;
  const named = text.split(',');
  return of.filter((member) => named.includes(member));
}
