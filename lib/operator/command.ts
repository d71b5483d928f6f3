import type { IdForm } from '../id-forms.ts';

/**
 * What one flag takes. Values of `id`, `number`, `choice`, `subset` and `switch` are logged, others never are. `from`
 * names the command that shows such ids; a `number` is an id too. `lines` is a file that the command line sends line by
 * line, in batches; its name is typed without a flag. A `secret` is typed as the name of a file that holds it
 * (`--app-secret-file`), so that it stays out of the shell's history.
 */
export type Flag = { help: string; optional?: true } & (
  | { kind: 'id'; form: IdForm; from?: string }
  | { kind: 'choice'; of: readonly string[] }
  /** Some of them, separated by commas; or `all`, or `none`. */
  | { kind: 'subset'; of: readonly string[] }
  | { kind: 'text'; mayBeEmpty?: true }
  /** Given or not, without a value. Optional, of course. */
  | { kind: 'switch' }
  | { kind: 'number' | 'json' | 'lines' | 'secret' }
);

/** One operator command. */
export interface Command {
  summary: string;
  flags: Record<string, Flag>;
  /** A command that prints lines instead of one JSON object. */
  pages?: Pages;
  /** Flags that the command line keeps to itself, with their help: each names a file on the caller's machine. */
  files?: Record<string, string>;
}

/** How the lines of a command come: each call's result has some of them, and a `next` if there are more. */
export interface Pages {
  /** The field of the result that holds them. */
  members: string;
  /** The flag that takes the `next` of the result before. */
  from: string;
}
