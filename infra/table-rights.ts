import type { Access, TableAction } from '../lib/http/endpoint.ts';
import { type ItemKind, leadingKeys } from '../lib/storage/keys.ts';

/** An action that a function may do on the table, and the forms of the partition keys for it. */
export interface TableRight {
  action: TableAction;
  keys: string[];
}

/** The error for a call to the table that the function's record does not list. */
export class MissingRight extends Error {}

/** All that a function may do with the table, for its role in the stack and for the local stack. */
export function tableRightsOf({
  table,
  authenticate,
}: Pick<Access, 'table' | 'authenticate'>): TableRight[] {
  const rights = [table, authenticate?.table].flatMap((kinds) =>
    Object.entries(kinds ?? {}).flatMap(([kind, actions]) =>
      actions.map((action) => ({ kind, action })),
    ),
  );
  return [...Map.groupBy(rights, ({ action }) => action)].map(([action, group]) => ({
    action,
    // Sorted: actions on the same kinds then share a statement.
    keys: [...new Set(group.flatMap(({ kind }) => leadingKeys[kind as ItemKind]))].sort(),
  }));
}
