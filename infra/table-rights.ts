import type { Access, TableAction } from '../lib/http/endpoint.ts';
import { type ItemKind, leadingKeys } from '../lib/storage/keys.ts';

/** An action of a function on the table, and the forms of the partition keys that it may be about. */
export interface TableRight {
  action: TableAction;
  keys: string[];
}

/** The error of a call to the table that the record of the function does not list. */
export class MissingRight extends Error {}

/** All that a function may do with the table. Its role in the stack says so, and the local stack enforces it. */
export function tableRightsOf({ table, authenticate }: Pick<Access, 'table' | 'authenticate'>): TableRight[] {
  const rights = [table, authenticate?.table].flatMap((kinds) =>
    Object.entries(kinds ?? {}).flatMap(([kind, actions]) => actions.map((action) => ({ kind, action }))),
  );
  return [...Map.groupBy(rights, ({ action }) => action)].map(([action, group]) => ({
    action,
    // In order, so that actions on the same kinds share a statement, in whatever order records list them.
    keys: [...new Set(group.flatMap(({ kind }) => leadingKeys[kind as ItemKind]))].sort(),
  }));
}
