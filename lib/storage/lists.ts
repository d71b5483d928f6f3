import { QueryCommand, type QueryCommandInput } from '@aws-sdk/lib-dynamodb';
import { documentClient, tableName } from './client.ts';
import { type Item, keyOf, readAll } from './items.ts';
import { type Key, namePosition, ordinalIn, ordinalOf } from './keys.ts';
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
export const readPartition = (pk: string, prefix = ''): Promise<Item[]> =>
  allOf(readPartitionPages(pk, prefix));

/** The items of a partition as the store reads them, 1 MB at a time: for one that may be too large to be read whole. */
export const readPartitionPages = (pk: string, prefix = ''): AsyncGenerator<Item[]> =>
  queryPages({
    ConsistentRead: true,
    ...keyCondition(
      `#pk = :pk${prefix && ' AND begins_with(#sk, :prefix)'}`,
      table.partitionKey,
      table.sortKey,
    ),
    ExpressionAttributeValues: { ':pk': pk, ...(prefix && { ':prefix': prefix }) },
  });

/** The items of a partition whose sort keys are not outside two of them, strongly consistent. */
export const readBetween = (pk: string, first: string, last: string): Promise<Item[]> =>
  allOf(
    queryPages({
      ConsistentRead: true,
      ...keyCondition('#pk = :pk AND #sk BETWEEN :first AND :last', table.partitionKey, table.sortKey),
      ExpressionAttributeValues: { ':pk': pk, ':first': first, ':last': last },
    }),
  );

/**
 * Whether there is an item whose attribute has a value, strongly consistent. The store compares: its answer is as long
 * for an item of somebody else as for none, so that its cost does not tell them apart.
 */
export async function hasItemWith(key: Key, attribute: 'login_app_id', value: string): Promise<boolean> {
  const { Count } = await query({
    ConsistentRead: true,
    ...keyCondition('#pk = :pk AND #sk = :sk', table.partitionKey, table.sortKey),
    FilterExpression: `${attribute} = :value`,
    ExpressionAttributeValues: { ':pk': key.pk, ':sk': key.sk, ':value': value },
    Select: 'COUNT',
  });
  return Count === 1;
}

/**
 * The members with ordinals from `first` to `last`, strongly consistent, in their order.
 * @param attributes what is read of each; everything when left out
 */
export function readRange(list: DenseList, first: number, last: number, attributes?: readonly string[]) {
  const query = denseListQuery(list);
  const names = attributes?.map((attribute, place) => [`#a${place}`, attribute] as const);
  const pages = queryPages({
    ...query,
    ...(names && {
      ProjectionExpression: names.map(([name]) => name).join(', '),
      ExpressionAttributeNames: { ...query.ExpressionAttributeNames, ...Object.fromEntries(names) },
    }),
    ExpressionAttributeValues: {
      ':pk': list.pk,
      ':first': ordinalIn(list.name, first),
      ':last': ordinalIn(list.name, last),
    },
  });
  return allOf(pages);
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

/**
 * Some members of a list of a global index, last position first unless told otherwise, and where the next ones begin. Such
 * an index lags behind the table.
 * @param from the least position
 * @param limit how many members at most
 * @param start `next` of the page before
 */
export async function readGlobalList(
  index: GlobalIndex,
  list: string,
  page: { from?: string; limit: number; start?: Item | undefined; order?: 'ascending' | 'descending' },
): Promise<{ items: Item[]; next: Item | undefined }> {
  const { from = ' ', limit, start, order = 'descending' } = page;
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

/**
 * The keys of some members of a list of the index `by_list`, first position first, and where the next ones begin.
 * @param prefix what their positions begin with
 */
export async function readListInOrder(
  list: string,
  { prefix = '', limit, start }: { prefix?: string; limit: number; start?: Item | undefined },
): Promise<{ keys: Key[]; next: Item | undefined }> {
  const { partitionKey, sortKey } = table.globalIndexes.by_list;
  const { Items = [], LastEvaluatedKey } = await query({
    IndexName: 'by_list',
    ...keyCondition(`#pk = :pk${prefix && ' AND begins_with(#sk, :prefix)'}`, partitionKey, sortKey),
    ExpressionAttributeValues: { ':pk': list, ...(prefix && { ':prefix': prefix }) },
    Limit: limit,
    ...(start && { ExclusiveStartKey: start }),
  });
  return { keys: Items.map(keyOf), next: LastEvaluatedKey };
}

/** A name, and the place that it gives a member of a list by name. */
export const named = (list: string, id: string, name: string) => ({
  name,
  list,
  list_position: namePosition(name, id),
});

/** The members that an index has found, as the table has them: it may show one twice, or one that is gone. */
export async function readMembers(keys: Key[]): Promise<Item[]> {
  const distinct = new Map(keys.map((key) => [`${key.pk}\n${key.sk}`, key]));
  return (await readAll([...distinct.values()])).filter((item) => item !== undefined);
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

async function* queryPages(input: Omit<QueryCommandInput, 'TableName'>): AsyncGenerator<Item[]> {
  let start: Item | undefined;
  do {
    const page = await query({ ...input, ...(start && { ExclusiveStartKey: start }) });
    yield page.Items ?? [];
    start = page.LastEvaluatedKey;
  } while (start);
}

async function allOf(pages: AsyncGenerator<Item[]>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const page of pages) items.push(...page);
  return items;
}
