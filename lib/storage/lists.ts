import { QueryCommand, type QueryCommandInput } from '@aws-sdk/lib-dynamodb';
import { documentClient, tableName } from './client.ts';
import { type Item, type Keyed, readEach } from './items.ts';
import { type Key, namePosition, ordinalIn, ordinalOf } from './keys.ts';
import { type GlobalIndex, type LocalIndex, table } from './table.ts';

/** A list of one partition whose members carry the dense ordinals 1, 2, 3 … in a sort key. */
export interface DenseList {
  pk: string;
  /** The index it lives in; the table itself when absent. */
  index?: LocalIndex | undefined;
  /** The first part of its sort keys, such as `EVENT`. */
  name: string;
}

/** Every item of a partition, strongly consistent. `prefix` narrows it to sort keys that begin so. */
export const readPartition = (pk: string, prefix = ''): Promise<Item[]> =>
  allOf(readPartitionPages(pk, prefix));

/** The items of a partition as the store reads them, 1 MB at a time: for one that may be too large to be read whole. */
export const readPartitionPages = (pk: string, prefix = ''): AsyncGenerator<Item[]> =>
  queryPages({ ConsistentRead: true, ...keysIn(table, pk, beginningWith(prefix)) });

/** The items of a partition whose sort keys are not outside two of them, strongly consistent. */
export const readBetween = (pk: string, first: string, last: string): Promise<Item[]> =>
  allOf(queryPages({ ConsistentRead: true, ...keysIn(table, pk, between(first, last)) }));

/**
 * Whether there is an item of a Login App, strongly consistent. The store compares: its answer is as long for an item of
 * another one as for none, so that its cost does not tell them apart.
 */
export async function isItemOf(loginAppId: string, key: Key): Promise<boolean> {
  const { Count } = await query({
    ConsistentRead: true,
    ...keysIn(table, key.pk, [' AND #sk = :sk', { ':sk': key.sk, ':value': loginAppId }]),
    FilterExpression: 'login_app_id = :value',
    Select: 'COUNT',
  });
  return Count === 1;
}

/** The members with ordinals from `first` to `last`, strongly consistent, in their order. */
export const readRange = (list: DenseList, first: number, last: number): Promise<Item[]> =>
  allOf(queryPages(ordinalsIn(list, first, last)));

/** The ordinal of the last member, which is the number of members; 0 for an empty list. One request. */
export async function readLastOrdinal(list: DenseList): Promise<number> {
  const { Items } = await query({
    ...ordinalsIn(list, 0, Number.MAX_SAFE_INTEGER),
    ProjectionExpression: '#sk',
    ScanIndexForward: false,
    Limit: 1,
  });
  const last = Items?.[0]?.[sortKeyOf(list.index)];
  return typeof last === 'string' ? ordinalOf(last) : 0;
}

interface Page {
  /** The least position. */
  from?: string;
  /** The text that their positions begin with. */
  prefix?: string;
  limit: number;
  /** `next` of the page before. */
  start?: Item | undefined;
  order?: 'ascending' | 'descending';
}

/**
 * Some members of a list of a global index, last position first unless told otherwise, and where the next ones begin. Such
 * an index lags behind the table.
 */
export async function readGlobalList(
  index: GlobalIndex,
  list: string,
  { from, prefix = '', limit, start, order = 'descending' }: Page,
): Promise<{ items: Item[]; next: Item | undefined }> {
  const positions: SortKeys =
    from === undefined ? beginningWith(prefix) : [' AND #sk >= :from', { ':from': from }];
  const { Items = [], LastEvaluatedKey } = await query({
    IndexName: index,
    ...keysIn(table.globalIndexes[index], list, positions),
    ScanIndexForward: order === 'ascending',
    Limit: limit,
    ...(start && { ExclusiveStartKey: start }),
  });
  return { items: Items, next: LastEvaluatedKey };
}

/**
 * The members of a list of a global index, first position first, as the index has them: `limit` at a time.
 * @param last the greatest position; absent for all members
 */
export const readGlobalPages = (index: GlobalIndex, list: string, limit = 100, last?: string) =>
  queryPages({
    IndexName: index,
    Limit: limit,
    ...keysIn(table.globalIndexes[index], list, last === undefined ? beginningWith('') : upTo(last)),
  });

/** The members of a list of the index `by_list` in that order, as the table has them: up to 100 at a time. */
export async function* readMemberPages(list: string, last?: string): AsyncGenerator<Item[]> {
  for await (const found of readGlobalPages('by_list', list, 100, last)) yield readMembers(found);
}

/** A name, and the place that it gives a member of a list by name. */
export const named = (list: string, id: string, name: string) => ({
  name,
  list,
  list_position: namePosition(name, id),
});

/** The members that an index has found, as the table has them: it may show one twice, or one that is gone. */
export async function readMembers(keys: Keyed[]): Promise<Item[]> {
  const members = new Set(keys.map(await readEach(keys)));
  return [...members].filter((item) => item !== undefined);
}

const ordinalsIn = ({ pk, index, name }: DenseList, first: number, last: number) => ({
  ...(index && { IndexName: index }),
  ConsistentRead: true,
  ...keysIn(
    { partitionKey: table.partitionKey, sortKey: sortKeyOf(index) },
    pk,
    between(ordinalIn(name, first), ordinalIn(name, last)),
  ),
});

/** The attribute that sorts a local index, or the table itself. */
export const sortKeyOf = (index: LocalIndex | undefined): string =>
  index ? table.localIndexes[index].sortKey : table.sortKey;

/** A condition on sort keys, with its values. */
type SortKeys = [condition: string, values: Record<string, string>];

const between = (first: string, last: string): SortKeys => [
  ' AND #sk BETWEEN :first AND :last',
  { ':first': first, ':last': last },
];
const upTo = (last: string): SortKeys => [' AND #sk <= :last', { ':last': last }];
const beginningWith = (prefix: string): SortKeys =>
  prefix ? [' AND begins_with(#sk, :prefix)', { ':prefix': prefix }] : ['', {}];

/** The keys of a partition, of the table or an index, whose sort keys meet a condition. */
const keysIn = (
  { partitionKey, sortKey }: { partitionKey: string; sortKey: string },
  pk: string,
  [condition, values]: SortKeys,
) => ({
  KeyConditionExpression: `#pk = :pk${condition}`,
  ExpressionAttributeNames: { '#pk': partitionKey, ...(condition && { '#sk': sortKey }) },
  ExpressionAttributeValues: { ':pk': pk, ...values },
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

const allOf = async (pages: AsyncGenerator<Item[]>): Promise<Item[]> => (await Array.fromAsync(pages)).flat();
