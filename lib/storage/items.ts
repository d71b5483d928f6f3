import { setTimeout as wait } from 'node:timers/promises';
import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { BatchGetCommand, DeleteCommand, GetCommand, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { newId } from '../secrets.ts';
import { documentClient, tableName } from './client.ts';
import { type Change, Expressions } from './expressions.ts';
import type { Key } from './keys.ts';

export type Item = Record<string, unknown>;

/** One item, strongly consistent; undefined when there is none. */
export async function readItem(key: Key): Promise<Item | undefined> {
  const { Item } = await documentClient.send(
    new GetCommand({ TableName: tableName(), Key: key, ConsistentRead: true }),
  );
  return Item;
}

/** How often a busy table is asked for the items of one batch. */
const mostAttempts = 6;
/** Milliseconds, at most, before the second attempt; twice as many before each further one. */
const firstPause = 50;

/**
 * Up to 100 items in one request, strongly consistent, in the order of the keys; undefined where there is none.
 * @throws Error when the table is too busy to read them all
 */
export async function readItems(keys: Key[]): Promise<(Item | undefined)[]> {
  const found = new Map<string, Item>();
  let missing: Item[] = keys.map((key) => ({ ...key }));
  for (let attempt = 0; missing.length > 0; attempt += 1) {
    if (attempt === mostAttempts) throw new Error('The table left items of a batch unread again and again.');
    if (attempt > 0) await wait(Math.random() * firstPause * 2 ** (attempt - 1));
    const { Responses, UnprocessedKeys } = await documentClient.send(
      new BatchGetCommand({ RequestItems: { [tableName()]: { Keys: missing, ConsistentRead: true } } }),
    );
    for (const item of Responses?.[tableName()] ?? []) found.set(`${item.pk}\n${item.sk}`, item);
    missing = UnprocessedKeys?.[tableName()]?.Keys ?? [];
  }
  return keys.map(({ pk, sk }) => found.get(`${pk}\n${sk}`));
}

/**
 * Writes a new item. `exists` when there is one under its key already; that one stays as it is. The SDK sends a
 * put again when its answer was lost, and then meets the item that it wrote itself: the item tells by its `write_id`.
 */
export async function putNewItem(item: Item & Key): Promise<'put' | 'exists'> {
  const write_id = newId('w');
  try {
    await documentClient.send(
      new PutCommand({
        TableName: tableName(),
        Item: { ...item, write_id },
        ConditionExpression: 'attribute_not_exists(pk)',
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      }),
    );
    return 'put';
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) throw error;
    const found = await itemThatStands(error, item);
    return found?.write_id === write_id ? 'put' : 'exists';
  }
}

/** Writes an item whole, whatever was there. */
export async function putItem(item: Item & Key): Promise<void> {
  await documentClient.send(new PutCommand({ TableName: tableName(), Item: item }));
}

/** Deletes an item. False when there was none. */
export async function deleteItem(key: Key): Promise<boolean> {
  const { Attributes } = await documentClient.send(
    new DeleteCommand({ TableName: tableName(), Key: key, ReturnValues: 'ALL_OLD' }),
  );
  return Attributes !== undefined;
}

/** What an update did: the item before it, or (refused by its condition) the item that stands there. */
type UpdateOutcome = { done: true; before: Item | undefined } | { done: false; found: Item | undefined };

/** One conditional write on one item. A failed condition is an answer, not an exception. */
export async function updateItem(key: Key, change: Change): Promise<UpdateOutcome> {
  const expressions = new Expressions();
  const update = expressions.update(change);
  const condition = expressions.condition(change.when ?? {});
  try {
    const { Attributes } = await documentClient.send(
      new UpdateCommand({
        TableName: tableName(),
        Key: key,
        UpdateExpression: update,
        ...(condition && {
          ConditionExpression: condition,
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
        }),
        ExpressionAttributeNames: expressions.names,
        ...(Object.keys(expressions.values).length > 0 && { ExpressionAttributeValues: expressions.values }),
        ReturnValues: 'ALL_OLD',
      }),
    );
    return { done: true, before: Attributes };
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) throw error;
    return { done: false, found: await itemThatStands(error, key) };
  }
}

/** The item that refused a write. The failure carries it, except in stores that leave it out, and when there is none. */
const itemThatStands = async (
  { Item: item }: ConditionalCheckFailedException,
  { pk, sk }: Key,
): Promise<Item | undefined> => (item ? unmarshall(item) : readItem({ pk, sk }));
