import type { Command } from './command.ts';
import type { commandTable } from './command-table.ts';
import type { FlagValues } from './flags.ts';

type Table = typeof commandTable;

/** The functions of a noun's commands; `operator` is the ARN of who calls. @throws ServiceError when nothing was changed */
export type CommandsOf<Noun extends keyof Table> = {
  [Verb in keyof Table[Noun]]: Table[Noun][Verb] extends Command
    ? (flags: FlagValues<Table[Noun][Verb]>, operator: string) => Promise<Record<string, unknown>>
    : never;
};
