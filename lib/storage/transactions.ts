import { randomUUID } from 'node:crypto';
import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import type { TransactWriteCommandInput } from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { newId } from '../foundation/ids.ts';
import { store, tableName } from './client.ts';
import { repeatConflicts } from './conflicts.ts';
import { type Change, type Conditions, Expressions, type Stored } from './expressions.ts';
import { type Item, type ItemKey, type Keyed, keyOf } from './items.ts';

/** One write of a transaction. It is the key under which its outcome is found. */
export interface TransactionWrite {
  /** The write as DynamoDB takes it. */
  input: NonNullable<TransactWriteCommandInput['TransactItems']>[number];
}

/** Writes a whole item if `when` holds. It replaces the item of this key, if there is one. */
export function put<Written>(
  key: ItemKey<unknown, Written>,
  attributes: Stored<NoInfer<Written>>,
  when: Conditions = {},
): TransactionWrite {
  const Item = { ...keyOf(key), ...attributes, created_by: newId('w') };
  return {
    input: { Put: { TableName: tableName(), Item, ...condition(new Expressions(), when) } },
  };
}

/** Changes an item if `when` of the change holds. An item that is not there is made. */
export function update<Written>(
  key: ItemKey<unknown, Written>,
  change: Change<NoInfer<Written>>,
): TransactionWrite {
  const expressions = new Expressions();
  // Like any new item, so that `updateItem` can tell which of its writes made one.
  const setIfAbsent = { ...change.setIfAbsent, created_by: newId('w') };
  const UpdateExpression = expressions.update({ ...change, setIfAbsent });
  const conditional = condition(expressions, change.when ?? {});
  return {
    input: {
      Update: { TableName: tableName(), Key: keyOf(key), UpdateExpression, ...conditional },
    },
  };
}

/** Deletes an item if `when` holds. */
export function remove(key: Keyed, when: Conditions = {}): TransactionWrite {
  const conditional = condition(new Expressions(), when);
  return { input: { Delete: { TableName: tableName(), Key: keyOf(key), ...conditional } } };
}

/** Writes nothing, but lets the transaction be made only if `when` holds. */
export function check(key: Keyed, when: Conditions): TransactionWrite {
  const { ConditionExpression = '', ...conditional } = condition(new Expressions(), when);
  const Key = keyOf(key);
  return {
    input: { ConditionCheck: { TableName: tableName(), Key, ConditionExpression, ...conditional } },
  };
}

/**
 * That all writes were made, or the writes whose conditions failed, each with the item that was
 * found.
 */
export type TransactionOutcome =
  | { done: true }
  | { done: false; refused: Map<TransactionWrite, Item | undefined> };

/**
 * Makes all writes, or none. A failed condition is an answer, not an exception. A lost answer costs
 * nothing: the SDK repeats the request with the same `ClientRequestToken`, and gets the first
 * outcome.
 * @param writes at most 100, each of another item
 * @throws the error of the store when the writes can't be made, whatever is stored
 * @see Amazon DynamoDB API reference, `TransactWriteItems`
 */
export async function writeTogether(writes: TransactionWrite[]): Promise<TransactionOutcome> {
  const TransactItems = writes.map(({ input }) => input);
  // The same for all attempts: an attempt whose answer was lost may have made the writes.
  const ClientRequestToken = randomUUID();
  const send = () => store.call('TransactWriteItems', { TransactItems, ClientRequestToken });
  try {
    await repeatConflicts(send);
    return { done: true };
  } catch (error) {
    if (error instanceof TransactionCanceledException) return refusedBy(error, writes);
    throw error;
  }
}

/**
 * The writes whose conditions failed.
 * @throws the error, if it has another reason
 */
function refusedBy(
  error: TransactionCanceledException,
  writes: TransactionWrite[],
): TransactionOutcome {
  const reasons = error.CancellationReasons ?? [];
  const refused = new Map<TransactionWrite, Item | undefined>();
  // DynamoDB gives a reason for each write, in their order.
  for (const [index, write] of writes.entries()) {
    const { Code = 'None', Item } = reasons[index] ?? {};
    if (Code === 'ConditionalCheckFailed') refused.set(write, Item && unmarshall(Item));
    else if (Code !== 'None') throw error;
  }
  if (refused.size === 0) throw error;
  return { done: false, refused };
}

/**
 * The parts of a write that are about its condition, and the names and values of all its
 * expressions.
 */
function condition(expressions: Expressions, when: Conditions) {
  const ConditionExpression = expressions.condition(when);
  const { names, values } = expressions;
  return {
    ...(ConditionExpression && {
      ConditionExpression,
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
    }),
    ExpressionAttributeNames: Object.keys(names).length > 0 ? names : undefined,
    ExpressionAttributeValues: Object.keys(values).length > 0 ? values : undefined,
  };
}
