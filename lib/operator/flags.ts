import type { Command, Flag } from './command-table.ts';

type ValueOf<F extends Flag> = F['kind'] extends 'integer'
  ? number
  : F['kind'] extends 'json' | 'lines'
    ? unknown
    : F['of'] extends readonly string[]
      ? F['of'][number]
      : string;

/** The values of a command's flags, by name. */
export type FlagValues<C extends Command> = {
  [Name in keyof C['flags']]: C['flags'][Name] extends { optional: true }
    ? ValueOf<C['flags'][Name]> | undefined
    : ValueOf<C['flags'][Name]>;
};

/** Each reason why these are not the flags of a command; none when they are. */
export function flagProblems({ flags: known }: Command, given: Record<string, unknown>): string[] {
  const unknown = Object.keys(given)
    .filter((name) => !Object.hasOwn(known, name))
    .map((name) => `there is no flag --${name}`);
  const wrong = Object.entries(known).flatMap(([name, flag]) => problem(name, flag, given[name]) ?? []);
  return [...unknown, ...wrong];
}

function problem(name: string, { kind, of, optional }: Flag, value: unknown): string | undefined {
  if (value === undefined) return optional ? undefined : `--${name} is missing`;
  if (kind === 'json' || kind === 'lines') return undefined;
  if (kind === 'integer') return Number.isSafeInteger(value) ? undefined : `--${name} must be an integer`;
  if (typeof value !== 'string') return `--${name} must be text`;
  if (kind === 'choice' && !of?.includes(value)) return `--${name} must be one of ${of?.join(', ')}`;
  return undefined;
}
