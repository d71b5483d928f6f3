import type { Access, TableAction, TableRights } from '../lib/http/endpoint.ts';
import { type ItemKind, type Partitions, partitions } from '../lib/storage/keys.ts';
import { table as storage } from '../lib/storage/table.ts';

/** The reach of an action: forms of partition keys, and indexes besides the table. */
interface Reach {
  keys: readonly string[];
  indexes: readonly string[];
}

/** An action that a function may do on the table, with its reach. */
export interface TableRight extends Reach {
  action: TableAction;
}

/** The error for a call to the table that the function's record does not list. */
export class MissingRight extends Error {}

/** All that a function may do with the table, for its role in the stack and for the local stack. */
export const tableRightsOf = ({
  table,
  authenticate,
}: Pick<Access, 'table' | 'authenticate'>): TableRight[] =>
  rightsOn([table, authenticate?.table], reachOf);

/**
 * The rights on kinds of items, one for each action.
 * @param reach that of an action on a kind
 */
export function rightsOn(
  tables: (TableRights | undefined)[],
  reach: (action: TableAction, kind: Partitions) => Reach,
): TableRight[] {
  const reached = tables.flatMap((table) =>
    Object.entries(table ?? {}).flatMap(([kind, actions]) =>
      actions.map((action) => ({ action, ...reach(action, partitions[kind as ItemKind]) })),
    ),
  );
  return [...Map.groupBy(reached, ({ action }) => action)].map(([action, group]) => ({
    action,
    keys: distinct(group.flatMap(({ keys }) => keys)),
    indexes: distinct(group.flatMap(({ indexes }) => indexes)),
  }));
}

/** Sorted: actions on the same kinds then share a statement. */
const distinct = (names: string[]): string[] => [...new Set(names)].sort();

/** Only a query can name an index, and a partition of a global one. */
function reachOf(action: TableAction, kind: Partitions): Reach {
  if (action !== 'Query') return { keys: kind.table, indexes: [] };
  const { table: _, hasLocalIndexes = false, ...global } = kind;
  const local = hasLocalIndexes ? Object.keys(storage.localIndexes) : [];
  return { keys: partitionsOf(kind), indexes: [...local, ...Object.keys(global)] };
}

/** The forms of all partition keys of a kind of items, in the table and in global indexes. */
export const partitionsOf = ({ table, hasLocalIndexes: _, ...global }: Partitions): string[] =>
  [table, ...Object.values(global)].flat();

export const indexNames = [
  ...Object.keys(storage.localIndexes),
  ...Object.keys(storage.globalIndexes),
];
