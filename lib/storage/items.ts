import { setTimeout as wait } from 'node:timers/promises';
import {
  ConditionalCheckFailedException,
  ItemCollectionSizeLimitExceededException,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { newId } from '../foundation/ids.ts';
import { store, tableName } from './client.ts';
import { repeatConflicts } from './conflicts.ts';
import { type Change, type Conditions, Expressions, type Stored } from './expressions.ts';
import type { Key } from './keys.ts';

export type Item = Record<string, unknown>;

/** A key, or an item with its key. */
export type Keyed = { pk?: unknown; sk?: unknown };

export const keyOf = ({ pk, sk }: Keyed): Key => ({ pk: String(pk), sk: String(sk) });

/**
 * The key of an item, and its kind: how reads parse it, and what writes may set (a type, never
 * called).
 */
export interface ItemKey<Attributes, Written = Attributes> extends Key {
  parse: (item: Item) => Attributes;
  written?(attributes: Written): void;
}

/**
 * A kind of items: makes the key of ids, and parses the attributes that are read.
 * @__NO_SIDE_EFFECTS__ for tree-shaking
 */
export function itemKind<Ids extends unknown[], Schema extends v.GenericSchema>(
  schema: Schema,
  key: (...ids: Ids) => Key,
) {
  const parse = (item: Item): v.InferOutput<Schema> => v.parse(schema, item);
  const kind = (...ids: Ids): ItemKey<v.InferOutput<Schema>, v.InferInput<Schema>> => ({
    ...key(...ids),
    parse,
  });
  return Object.assign(kind, { schema, parse });
}

export type ItemOf<Kind extends { parse: (item: Item) => unknown }> = ReturnType<Kind['parse']>;

/** The item of a key, if any, strongly consistent. */
export async function readItem<Attributes>(key: ItemKey<Attributes, unknown>) {
  const item = await readRaw(key);
  return item && key.parse(item);
}

async function readRaw(key: Key): Promise<Item | undefined> {
  const input = { TableName: tableName(), Key: keyOf(key), ConsistentRead: true };
  const { Item } = await store.call('GetItem', input);
  return Item;
}

/** The most items in one request. */
const batchSize = 100;
const mostAttempts = 6;
/** The most milliseconds before the second attempt; doubled before each further one. */
const firstPause = 50;

type ItemsOf<Keys extends unknown[]> = {
  [Index in keyof Keys]: Keys[Index] extends ItemKey<infer Attributes, unknown>
    ? Attributes | undefined
    : never;
};

/**
 * Items in the order of their keys, strongly consistent; undefined for none.
 * @throws Error if the table is too busy
 */
export async function readItems<Keys extends ItemKey<unknown, unknown>[]>(
  keys: [...Keys],
): Promise<ItemsOf<Keys>>;
export async function readItems(keys: ItemKey<unknown, unknown>[]): Promise<unknown[]> {
  const items = await readAll(keys);
  return items.map((item, index) => item && keys[index]?.parse(item));
}

/** Unparsed items in the order of their keys. */
export const readAll = async (keys: Keyed[]): Promise<(Item | undefined)[]> =>
  keys.map(await readEach(keys));

/**
 * Reads items, each once.
 * @returns finds the unparsed item of a key
 */
export async function readEach(keys: Keyed[]): Promise<(key: Keyed) => Item | undefined> {
  const byName = new Map(keys.map((key) => [nameOf(key), keyOf(key)]));
  const distinct = [...byName.values()];
  const found = new Map<string, Item>();
  const batches: Promise<void>[] = [];
  for (let start = 0; start < distinct.length; start += batchSize) {
    batches.push(readBatch(distinct.slice(start, start + batchSize), found));
  }
  await Promise.all(batches);
  return (key) => found.get(nameOf(key));
}

async function readBatch(keys: Keyed[], found: Map<string, Item>): Promise<void> {
  let missing = keys;
  for (let attempt = 0; missing.length > 0; attempt += 1) {
    if (attempt === mostAttempts)
      throw new Error('The table was too busy to read all items of a batch.');
    if (attempt > 0) await wait(Math.random() * firstPause * 2 ** (attempt - 1));
    const RequestItems = { [tableName()]: { Keys: missing, ConsistentRead: true } };
    const { Responses, UnprocessedKeys } = await store.call('BatchGetItem', { RequestItems });
    for (const item of Responses?.[tableName()] ?? []) found.set(nameOf(item), item);
    missing = UnprocessedKeys?.[tableName()]?.Keys ?? [];
  }
}

const nameOf = ({ pk, sk }: Keyed): string => `${pk}\n${sk}`;

/**
 * Writes an item.
 * @returns whether it did: after a lost answer, the SDK's retry finds the `created_by` of the first
 *   attempt
 */
export async function putItem<Written>(
  key: ItemKey<unknown, Written>,
  attributes: Stored<NoInfer<Written>>,
  { ifAbsent = false } = {},
): Promise<boolean> {
  const created_by = newId('w');
  const put = { TableName: tableName(), Item: { ...keyOf(key), ...attributes, created_by } };
  const condition = ifAbsent ? { ConditionExpression: 'attribute_not_exists(pk)' } : {};
  const sent = await unlessRefused(() => store.call('PutItem', { ...put, ...condition }));
  if (!(sent instanceof ConditionalCheckFailedException)) return true;
  if (sent.$metadata.attempts === 1) return false;
  // An attempt whose answer was lost may have written the item.
  const found = await readRaw(key);
  return found?.created_by === created_by;
}

/** The answer to a write, or the error that its condition did not hold. */
const unlessRefused = <Answer>(send: () => Promise<Answer>) =>
  repeatConflicts(send).catch((error: unknown) => {
    if (error instanceof ConditionalCheckFailedException) return error;
    throw error;
  });

/** Whether a write failed because its partition and its local indexes take 10 GB. */
export function isPartitionFull(error: unknown): boolean {
  if (error instanceof ItemCollectionSizeLimitExceededException) return true;
  if (!(error instanceof TransactionCanceledException)) return false;
  const reasons = error.CancellationReasons ?? [];
  return reasons.some(({ Code }) => Code === 'ItemCollectionSizeLimitExceeded');
}

/**
 * Deletes an item if `when` holds. A retry can't know what the first attempt deleted, so nothing is
 * returned.
 */
export async function deleteItem(key: Keyed, when: Conditions = {}): Promise<void> {
  const expressions = new Expressions();
  const ConditionExpression = expressions.condition(when);
  const { names: ExpressionAttributeNames, values: ExpressionAttributeValues } = expressions;
  const condition = { ConditionExpression, ExpressionAttributeNames, ExpressionAttributeValues };
  const deletion = {
    TableName: tableName(),
    Key: keyOf(key),
    ...(ConditionExpression && condition),
  };
  await unlessRefused(() => store.call('DeleteItem', deletion));
}

/** The outcome of an update, or the item, if any, that did not meet its condition. */
export type UpdateOutcome =
  | {
      done: true;
      created: boolean;
      /** The item before the update; undefined if there was none, or an answer was lost. */
      before: Item | undefined;
      /** The item after the update, if an answer was lost. */
      after?: Item;
    }
  | { done: false; found: Item | undefined };

/**
 * Updates an item. A failed condition is an answer, not an exception.
 *
 * Each update stores its `write_id` on the condition that the item does not have it yet. After a
 * lost answer, the SDK's retry finds it and returns the outcome of the first attempt. If somebody
 * else updates the item before the retry, a change whose `when` still holds is made again, and any
 * other is reported as not done: a change without a condition must be repeatable. `when` may name the
 * `write_id` of an earlier update, which is another one.
 */
export async function updateItem<Written>(
  key: ItemKey<unknown, Written>,
  change: Change<NoInfer<Written>>,
): Promise<UpdateOutcome> {
  const write_id = newId('w');
  const expressions = new Expressions();
  const update = expressions.update({
    ...change,
    set: { ...change.set, write_id },
    setIfAbsent: { ...change.setIfAbsent, created_by: write_id },
  });
  const condition = expressions.condition({ write_id: { isNot: write_id }, ...change.when });
  const sent = await unlessRefused(() =>
    sendUpdate(key, update, condition, expressions, 'ALL_OLD'),
  );
  if (!(sent instanceof ConditionalCheckFailedException))
    return { done: true, created: sent.Attributes === undefined, before: sent.Attributes };
  // Some stores leave the item out of the error.
  const found = sent.Item ? unmarshall(sent.Item) : await readRaw(key);
  return found?.write_id === write_id
    ? { done: true, created: found.created_by === write_id, before: undefined, after: found }
    : { done: false, found };
}

/**
 * Makes a change that may be repeated to an item that exists, and returns whether it did. An item
 * that does not meet the condition is not read, so the cost of a failure does not tell whether
 * somebody else has one.
 */
export async function updateOwnItem<Written>(
  key: ItemKey<unknown, Written>,
  { when = whileStored, ...change }: Omit<Change<NoInfer<Written>>, 'copy' | 'count'>,
): Promise<boolean> {
  const write_id = newId('w');
  const expressions = new Expressions();
  const update = expressions.update({ ...change, set: { ...change.set, write_id } });
  const own = expressions.condition({ write_id: { is: write_id } });
  const condition = `(${expressions.condition(when)}) OR ${own}`;
  const sent = await unlessRefused(() => sendUpdate(key, update, condition, expressions));
  return !(sent instanceof ConditionalCheckFailedException);
}

/**
 * Sets an attribute to the current time, unless it is set, or removes it.
 * @returns whether there is such an item
 */
export const setTimestamp = (
  key: ItemKey<unknown, Item>,
  attribute: `${string}_at`,
  isSet: boolean,
  when: Conditions = whileStored,
): Promise<boolean> =>
  updateOwnItem(key, {
    ...(isSet ? { setIfAbsent: { [attribute]: timestamp() } } : { remove: [attribute] }),
    when,
  });

const whileStored = { pk: { exists: true } };

const sendUpdate = (
  key: Key,
  UpdateExpression: string,
  ConditionExpression: string,
  { names, values }: Expressions,
  returned?: 'ALL_OLD',
) =>
  store.call('UpdateItem', {
    TableName: tableName(),
    Key: keyOf(key),
    UpdateExpression,
    ConditionExpression,
    ExpressionAttributeNames: names,
    ExpressionAttributeValues: values,
    ReturnValues: returned,
    ReturnValuesOnConditionCheckFailure: returned,
  });
