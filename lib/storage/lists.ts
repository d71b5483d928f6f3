import { QueryCommand, type QueryCommandInput } from '@aws-sdk/lib-dynamodb';
import { documentClient, tableName } from './client.ts';
import type { Item } from './items.ts';
import { ordinalIn, ordinalOf } from './keys.ts';
import { type GlobalIndex, type LocalIndex, table } from './table.ts';

/** A list of one partition whose members carry the dense ordinals 1, 2, 3 … in a sort key. */
export interface DenseList {
  pk: string;
  /** The index it lives in; the table itself when absent. */
  index?: LocalIndex;
  /** The first part of its sort keys, such as `EVENT`. */
  name: string;
}

/** Every item of a partition, strongly consistent. `prefix` narrows it to sort keys that begin so. */
export function readPartition(pk: string, prefix = ''): Promise<Item[]> {
  return queryAll({
    ConsistentRead: true,
    ...keyCondition(
      `#pk = :pk${prefix && ' AND begins_with(#sk, :prefix)'}`,
      table.partitionKey,
      table.sortKey,
    ),
    ExpressionAttributeValues: { ':pk': pk, ...(prefix && { ':prefix': prefix }) },
  });
}

/** The members with ordinals from `first` to `last`, strongly consistent, in their order. */
export function readRange(list: DenseList, first: number, last: number): Promise<Item[]> {
  return queryAll({
    ...denseListQuery(list),
    ExpressionAttributeValues: {
      ':pk': list.pk,
      ':first': ordinalIn(list.name, first),
      ':last': ordinalIn(list.name, last),
    },
  });
}

/** The ordinal of the last member, which is the number of members; 0 for an empty list. One request. */
export async function readLastOrdinal(list: DenseList): Promise<number> {
  const { Items } = await query({
    ...denseListQuery(list),
    ExpressionAttributeValues: {
      ':pk': list.pk,
      ':first': ordinalIn(list.name, 0),
      ':last': ordinalIn(list.name, Number.MAX_SAFE_INTEGER),
    },
    ProjectionExpression: '#sk',
    ScanIndexForward: false,
    Limit: 1,
  });
  const last = Items?.[0]?.[sortKeyOf(list.index)];
  return typeof last === 'string' ? ordinalOf(last) : 0;
}

/** Some members of a list of a global index, and where the next ones begin. */
interface GlobalListPage {
  items: Item[];
  next: Item | undefined;
}

/**
 * The members of a list of a global index, last position first unless told otherwise. Such an index lags behind the table.
 * @param from the least position
 * @param limit how many members at most
 * @param start `next` of the page before
 */
export async function readGlobalList(
  index: GlobalIndex,
  list: string,
  {
    from = ' ',
    limit,
    start,
    order = 'descending',
  }: { from?: string; limit: number; start?: Item | undefined; order?: 'ascending' | 'descending' },
): Promise<GlobalListPage> {
  const { partitionKey, sortKey } = table.globalIndexes[index];
  const { Items = [], LastEvaluatedKey } = await query({
    IndexName: index,
    ...keyCondition('#pk = :pk AND #sk >= :from', partitionKey, sortKey),
    ExpressionAttributeValues: { ':pk': list, ':from': from },
    ScanIndexForward: order === 'ascending',
    Limit: limit,
    ...(start && { ExclusiveStartKey: start }),
  });
  return { items: Items, next: LastEvaluatedKey };
}

/** The last member of a list of a global index: a hint, since such an index lags behind the table. */
export async function readLastOfGlobalList(index: GlobalIndex, list: string): Promise<Item | undefined> {
  const { items } = await readGlobalList(index, list, { limit: 1 });
  return items[0];
}

const denseListQuery = ({ index }: DenseList): Partial<QueryCommandInput> => ({
  ...(index && { IndexName: index }),
  ConsistentRead: true,
  ...keyCondition('#pk = :pk AND #sk BETWEEN :first AND :last', table.partitionKey, sortKeyOf(index)),
});

/** The attribute that sorts a local index, or the table itself. */
export const sortKeyOf = (index: LocalIndex | undefined): string =>
  index ? table.localIndexes[index].sortKey : table.sortKey;

const keyCondition = (expression: string, partitionKey: string, sortKey: string) => ({
  KeyConditionExpression: expression,
  ExpressionAttributeNames: { '#pk': partitionKey, ...(expression.includes('#sk') && { '#sk': sortKey }) },
});

const query = (input: Omit<QueryCommandInput, 'TableName'>) =>
  documentClient.send(new QueryCommand({ TableName: tableName(), ...input }));

async function queryAll(input: Omit<QueryCommandInput, 'TableName'>): Promise<Item[]> {
  const items: Item[] = [];
  let start: Item | undefined;
  do {
    const page = await query({ ...input, ...(start && { ExclusiveStartKey: start }) });
    items.push(...(page.Items ?? []));
    start = page.LastEvaluatedKey;
  } while (start);
  return items;
}
