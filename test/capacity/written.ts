import type { Item } from '../../lib/storage/items.ts';
import { type GlobalIndex, table } from '../../lib/storage/table.ts';

/** Holder of the partitions that a write takes units of: the table, with its local indexes, or a global index. */
export type Place = 'table' | GlobalIndex;

/** Write units that one partition gave. */
interface Written {
  place: string;
  partition: string;
  units: number;
}

const indexes = [
  ...Object.values(table.localIndexes).map((index) => ({
    place: 'table',
    partitionKey: table.partitionKey,
    ...index,
  })),
  ...Object.entries(table.globalIndexes).map(([place, index]) => ({ place, ...index })),
];

/**
 * Lists what a write takes, by partition. The local store counts the item alone; AWS bills the indexes too: one write for
 * an entry that comes, goes or changes, two for one that moves. Every write changes an attribute that only indexes with
 * all attributes have, `write_id`.
 * @param itemUnits what the write takes for the item itself
 * @see Amazon DynamoDB developer guide, "Using Global Secondary Indexes in DynamoDB" and "Local Secondary Indexes": write capacity units
 */
export function writtenBy(before: Item | undefined, after: Item | undefined, itemUnits: number): Written[] {
  const partition = String((after ?? before)?.[table.partitionKey]);
  return [
    { place: 'table', partition, units: itemUnits },
    ...indexes.flatMap(({ place, partitionKey, sortKey, projection }) => {
      const [was, is] = [before, after].map((item) =>
        item?.[partitionKey] === undefined || item[sortKey] === undefined
          ? undefined
          : { partition: String(item[partitionKey]), position: item[sortKey] },
      );
      const stays = was?.partition === is?.partition && was?.position === is?.position;
      const written = stays ? [projection === 'ALL' ? is : undefined] : [was, is];
      const units = projection === 'ALL' ? itemUnits : 1;
      return written.flatMap((entry) => entry ?? []).map((entry) => ({ ...entry, place, units }));
    }),
  ];
}
