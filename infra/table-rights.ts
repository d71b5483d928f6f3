import type { Access, TableAction } from '../lib/http/endpoint.ts';
import { leadingKeys } from '../lib/storage/keys.ts';

/** An action of a function on the table, and the forms of the partition keys that it may be about. */
export interface TableRight {
  action: TableAction;
  keys: string[];
}

/** The error of a call to the table that the record of the function does not list. */
export class MissingRight extends Error {}

/** All that a function may do with the table. Its role in the stack says so, and the local stack enforces it. */
export const tableRightsOf = ({ table }: Pick<Access, 'table'>): TableRight[] =>
  Object.entries(table).map(([action, kinds]) => ({
    action: action as TableAction,
    keys: kinds.flatMap((kind) => leadingKeys[kind]),
  }));
