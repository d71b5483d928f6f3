import type { QueryCommandInput } from '@aws-sdk/lib-dynamodb';
import { store, tableName } from './client.ts';
import { type Conditions, Expressions } from './expressions.ts';
import { type Item, type Keyed, readEach } from './items.ts';
import { type Key, namePosition, ordinalIn, ordinalOf } from './keys.ts';
import { type GlobalIndex, type LocalIndex, table } from './table.ts';

/**
 * A list within a partition, with the ordinals of its members in a sort key: 1, 2, 3 … if it is
 * dense.
 */
export interface NumberedList {
  pk: string;
  /** @default the table itself */
  index?: LocalIndex | undefined;
  /** The prefix of its sort keys, such as `EVENT`. */
  name: string;
}

/** The items of a partition whose sort keys begin with `prefix`, strongly consistent. */
export const readPartition = (pk: string, prefix = '') => allOf(readPartitionPages(pk, prefix));

/** The items of a partition that may be large, 1 MB at a time. */
export const readPartitionPages = (pk: string, prefix = ''): AsyncGenerator<Item[]> =>
  queryPages({ ConsistentRead: true, ...keysIn(table, pk, beginningWith(prefix)) });

/**
 * Whether a Login App has an item, strongly consistent. The store compares: another one's item
 * costs the same as none.
 */
export async function isItemOf(loginAppId: string, key: Key): Promise<boolean> {
  const { Count } = await query({
    ConsistentRead: true,
    ...keysIn(table, key.pk, {
      condition: ' AND #sk = :sk',
      values: { ':sk': key.sk, ':value': loginAppId },
    }),
    FilterExpression: 'login_app_id = :value',
    Select: 'COUNT',
  });
  return Count === 1;
}

/** The members with ordinals from `first` to `last`, strongly consistent. */
export const readRange = (
  list: NumberedList,
  first = 1,
  last = Number.MAX_SAFE_INTEGER,
): Promise<Item[]> => allOf(queryPages(ordinalsIn(list, first, last)));

/** The number of members, in one request. */
export async function readLastOrdinal(list: NumberedList): Promise<number> {
  const { Items } = await query({
    ...ordinalsIn(list, 0, Number.MAX_SAFE_INTEGER),
    ProjectionExpression: '#sk',
    ScanIndexForward: false,
    Limit: 1,
  });
  const last = Items?.[0]?.[sortKeyOf(list.index)];
  return typeof last === 'string' ? ordinalOf(last) : 0;
}

/**
 * A part of a list: the order, the ordinal after which it begins, and how many members are read.
 */
interface PartOfList {
  order: 'ascending' | 'descending';
  after: number | undefined;
  limit: number;
}

/**
 * The ordinals of some members, strongly consistent, in one request.
 * @param when what members must meet, among those that are read
 * @returns also the ordinal after which the list goes on; undefined at its end
 */
export async function readOrdinals(
  list: NumberedList,
  { order, after, limit }: PartOfList,
  when: Conditions,
): Promise<{ ordinals: number[]; next: number | undefined }> {
  const isAscending = order === 'ascending';
  const greatest = Number.MAX_SAFE_INTEGER;
  const part = isAscending
    ? ordinalsIn(list, (after ?? 0) + 1, greatest)
    : ordinalsIn(list, 0, (after ?? greatest) - 1);
  const filter = new Expressions();
  const FilterExpression = filter.condition(when) || undefined;
  const { Items = [], LastEvaluatedKey } = await query({
    ...part,
    FilterExpression,
    ExpressionAttributeNames: { ...part.ExpressionAttributeNames, ...filter.names },
    ExpressionAttributeValues: { ...part.ExpressionAttributeValues, ...filter.values },
    ProjectionExpression: '#sk',
    ScanIndexForward: isAscending,
    Limit: limit,
  });
  const ordinal = (item: Item) => ordinalOf(String(item[sortKeyOf(list.index)]));
  return { ordinals: Items.map(ordinal), next: LastEvaluatedKey && ordinal(LastEvaluatedKey) };
}

interface Page {
  /** The least position. */
  from?: string;
  /** The beginning of positions. */
  prefix?: string;
  limit: number;
  /** The `next` of the page before. */
  start?: Item | undefined;
  /** @default 'descending' */
  order?: 'ascending' | 'descending';
}

/**
 * Members of a list of a global index, which lags behind the table, and where the next ones begin.
 */
export async function readGlobalList(
  index: GlobalIndex,
  list: string,
  { from, prefix = '', limit, start, order = 'descending' }: Page,
): Promise<{ items: Item[]; next: Item | undefined }> {
  const positions = from === undefined ? beginningWith(prefix) : startingAt(from);
  const { Items = [], LastEvaluatedKey } = await query({
    IndexName: index,
    ...keysIn(table.globalIndexes[index], list, positions),
    ScanIndexForward: order === 'ascending',
    Limit: limit,
    ExclusiveStartKey: start,
  });
  return { items: Items, next: LastEvaluatedKey };
}

/**
 * Pages of the members of a list of a global index, first position first.
 * @param last the greatest position, if any
 */
export const readGlobalPages = (index: GlobalIndex, list: string, limit = 100, last?: string) =>
  queryPages({
    IndexName: index,
    Limit: limit,
    ...keysIn(table.globalIndexes[index], list, last === undefined ? everyKey : upTo(last)),
  });

/** Pages of the members of a list of the index `by_list`, as the table has them. */
export async function* readMemberPages(list: string, last?: string): AsyncGenerator<Item[]> {
  for await (const found of readGlobalPages('by_list', list, 100, last)) yield readMembers(found);
}

/** Attributes of an item with a name, which put it into a list by name. */
export const named = (list: string, id: string, name: string) => ({
  name,
  list,
  list_position: namePosition(name, id),
});

/** Members as the table has them. An index may show one twice, or one that is gone. */
export async function readMembers(keys: Keyed[]): Promise<Item[]> {
  const members = new Set(keys.map(await readEach(keys)));
  return [...members].filter((item) => item !== undefined);
}

const ordinalsIn = ({ pk, index, name }: NumberedList, first: number, last: number) => ({
  IndexName: index,
  ConsistentRead: true,
  ...keysIn(
    { partitionKey: table.partitionKey, sortKey: sortKeyOf(index) },
    pk,
    between(ordinalIn(name, first), ordinalIn(name, last)),
  ),
});

/** The sort key of a local index, or of the table itself. */
export const sortKeyOf = (index: LocalIndex | undefined): string =>
  index ? table.localIndexes[index].sortKey : table.sortKey;

/** A condition on sort keys, which goes on after that on the partition key. */
interface SortKeys {
  condition: string;
  values: Record<string, string>;
}

const everyKey: SortKeys = { condition: '', values: {} };
const between = (first: string, last: string): SortKeys => ({
  condition: ' AND #sk BETWEEN :first AND :last',
  values: { ':first': first, ':last': last },
});
const startingAt = (from: string): SortKeys => ({
  condition: ' AND #sk >= :from',
  values: { ':from': from },
});
const upTo = (last: string): SortKeys => ({
  condition: ' AND #sk <= :last',
  values: { ':last': last },
});
const beginningWith = (prefix: string): SortKeys =>
  prefix === ''
    ? everyKey
    : { condition: ' AND begins_with(#sk, :prefix)', values: { ':prefix': prefix } };

/**
 * Input of a query for the sort keys in a partition of the table or an index that meet a condition.
 */
const keysIn = (
  { partitionKey, sortKey }: { partitionKey: string; sortKey: string },
  pk: string,
  { condition, values }: SortKeys,
) => ({
  KeyConditionExpression: `#pk = :pk${condition}`,
  ExpressionAttributeNames: { '#pk': partitionKey, ...(condition && { '#sk': sortKey }) },
  ExpressionAttributeValues: { ':pk': pk, ...values },
});

const query = (input: Omit<QueryCommandInput, 'TableName'>) =>
  store.call('Query', { TableName: tableName(), ...input });

async function* queryPages(input: Omit<QueryCommandInput, 'TableName'>): AsyncGenerator<Item[]> {
  let start: Item | undefined;
  do {
    const page = await query({ ...input, ExclusiveStartKey: start });
    yield page.Items ?? [];
    start = page.LastEvaluatedKey;
  } while (start);
}

const allOf = async (pages: AsyncGenerator<Item[]>): Promise<Item[]> =>
  (await Array.fromAsync(pages)).flat();
