// Transactions for the embedded store, which has none. They are served in front of it, while every
// other call waits. When a write is refused, those before it are undone.

import { isDeepStrictEqual } from 'node:util';
import * as v from 'valibot';
import { table } from '../../lib/storage/table.ts';

/** Items and keys in DynamoDB's JSON. */
export const itemSchema = v.record(v.string(), v.record(v.string(), v.unknown()));
export type Item = v.InferOutput<typeof itemSchema>;

const writeSchema = v.object({
  TableName: v.string(),
  Key: v.optional(itemSchema),
  Item: v.optional(itemSchema),
  UpdateExpression: v.optional(v.string()),
  ConditionExpression: v.optional(v.string()),
  ExpressionAttributeNames: v.optional(v.record(v.string(), v.string())),
  ExpressionAttributeValues: v.optional(itemSchema),
  ReturnValuesOnConditionCheckFailure: v.optional(v.string()),
});

/** The input of `TransactWriteItems`. Each member of the list has one of the four. */
const transactionSchema = v.object({
  TransactItems: v.array(
    v.object({
      Put: v.optional(writeSchema),
      Update: v.optional(writeSchema),
      Delete: v.optional(writeSchema),
      ConditionCheck: v.optional(writeSchema),
    }),
  ),
  ClientRequestToken: v.optional(v.string()),
  ReturnConsumedCapacity: v.optional(v.string()),
});
type Transaction = v.InferOutput<typeof transactionSchema>;

/** A write of a transaction, with the item as it was before. */
interface Write {
  /** Undefined for a check. */
  operation: 'PutItem' | 'UpdateItem' | 'DeleteItem' | undefined;
  input: v.InferOutput<typeof writeSchema>;
  key: Item;
  image: Item | undefined;
}

export interface Answer {
  status: number;
  body: Record<string, unknown>;
}

/** Milliseconds for which a repeated request gets the answer of the first one. */
const tokenLifetime = 600_000;

/**
 * The key of the note of what a transaction is about to change. No other call ever sees the item.
 */
const journalKey: Item = {
  [table.partitionKey]: { S: 'LOCAL_TRANSACTION' },
  [table.sortKey]: { S: 'JOURNAL' },
};

/** The images of a journal: each key, with the item that was there. */
const journalSchema = v.array(v.object({ key: itemSchema, image: v.optional(itemSchema) }));

/**
 * Serves transactions, one at a time.
 * @param call the store's own calls
 * @param isKept whether the store's data outlive this process, and with them half a transaction
 * @see Amazon DynamoDB API reference, `TransactWriteItems`
 */
export function transactions(call: StoreCall, isKept: boolean) {
  const answered = new Map<string, { transaction: Transaction; body: object; at: number }>();
  return {
    /** The answer to a transaction, or to an earlier one with the same token. */
    async answer(input: unknown): Promise<Answer> {
      const { success, output: transaction, issues } = v.safeParse(transactionSchema, input);
      if (!success) return refusal('ValidationException', issues[0].message);
      const { ClientRequestToken: token } = transaction;
      const since = Date.now() - tokenLifetime;
      for (const [name, { at }] of answered) if (at < since) answered.delete(name);
      const earlier = token === undefined ? undefined : answered.get(token);
      if (earlier)
        return isDeepStrictEqual(earlier.transaction, transaction)
          ? { status: 200, body: { ...earlier.body } }
          : refusal('IdempotentParameterMismatchException', 'The token came with other writes.');
      const answer = await transact(transaction, { call, isKept });
      if (token !== undefined && answer.status === 200)
        answered.set(token, { transaction, body: answer.body, at: Date.now() });
      return answer;
    },
    /** Undoes a transaction that a kill has interrupted. */
    async undoInterrupted(): Promise<void> {
      const { TableNames } = v.parse(
        v.object({ TableNames: v.array(v.string()) }),
        (await call('ListTables', {})).body,
      );
      for (const TableName of TableNames) {
        const images = await readJournal(TableName, call);
        if (images.length === 0) continue;
        await undo(TableName, images, call);
        await deleteJournal(TableName, call);
      }
    },
  };
}

/** Asks the store behind the transactions. */
export type StoreCall = (operation: string, input: object) => Promise<Answer>;

interface Store {
  call: StoreCall;
  isKept: boolean;
}

/** Makes all writes of a transaction, or none. */
async function transact(
  { TransactItems, ReturnConsumedCapacity }: Transaction,
  store: Store,
): Promise<Answer> {
  const { call } = store;
  const inputs = TransactItems.map(writeOf);
  const problem = problemOf(inputs);
  if (problem !== undefined) return refusal('ValidationException', problem);
  const writes: Write[] = [];
  for (const { operation, input } of inputs) {
    const { TableName } = input;
    const key = keyOfWrite(input);
    const read = await call('GetItem', { TableName, Key: key, ConsistentRead: true });
    if (read.status !== 200) return read;
    const { Item } = v.parse(v.object({ Item: v.optional(itemSchema) }), read.body);
    writes.push({ operation, input, key, image: Item });
  }
  return makeWrites(writes, ReturnConsumedCapacity, store);
}

function writeOf({ Put, Update, Delete, ConditionCheck }: Transaction['TransactItems'][number]) {
  if (Put) return { operation: 'PutItem' as const, input: Put };
  if (Update) return { operation: 'UpdateItem' as const, input: Update };
  if (Delete) return { operation: 'DeleteItem' as const, input: Delete };
  if (ConditionCheck) return { operation: undefined, input: ConditionCheck };
  throw new Error('A member of TransactItems has no write.');
}

function problemOf(writes: { input: Write['input'] }[]): string | undefined {
  if (writes.length === 0 || writes.length > 100) return 'A transaction has 1 to 100 writes.';
  const tables = new Set(writes.map(({ input }) => input.TableName));
  if (tables.size > 1) return 'This store serves transactions on one table.';
  const keys = new Set(writes.map(({ input }) => JSON.stringify(keyOfWrite(input))));
  if (keys.size < writes.length)
    return 'Transaction request cannot include multiple operations on one item';
  return undefined;
}

/** Makes writes, all or none, even if it is killed. */
async function makeWrites(
  writes: Write[],
  ReturnConsumedCapacity: string | undefined,
  { call, isKept }: Store,
): Promise<Answer> {
  const TableName = writes[0]?.input.TableName ?? '';
  const images = writes.map(({ key, image }) => ({ key, image }));
  if (isKept) await writeJournal(TableName, images, call);
  let units = 0;
  for (const [made, write] of writes.entries()) {
    const answer = await makeWrite(write, call);
    if (answer.status !== 200) {
      await undo(TableName, images.slice(0, made), call);
      if (isKept) await deleteJournal(TableName, call);
      const isRefused = isNamed(answer, 'ConditionalCheckFailedException');
      return isRefused ? cancelled(await reasonsOf(writes, call)) : answer;
    }
    if (write.operation !== undefined)
      units += v.parse(consumedSchema, answer.body).ConsumedCapacity.CapacityUnits;
  }
  if (isKept) await deleteJournal(TableName, call);
  // A write of a transaction takes twice the units.
  const ConsumedCapacity = [{ TableName, CapacityUnits: 2 * units }];
  return { status: 200, body: ReturnConsumedCapacity === undefined ? {} : { ConsumedCapacity } };
}

/** Makes one write, or refuses it if its condition does not hold. */
async function makeWrite(write: Write, call: StoreCall): Promise<Answer> {
  const { operation, input } = write;
  if (operation === undefined) return tryCondition(write, call);
  const { ReturnValuesOnConditionCheckFailure: _, ...content } = input;
  return call(operation, { ...content, ReturnConsumedCapacity: 'TOTAL' });
}

/** Tries the condition of a write by one that changes nothing. */
async function tryCondition({ input, key, image }: Write, call: StoreCall): Promise<Answer> {
  const { TableName, ConditionExpression } = input;
  if (ConditionExpression === undefined) return { status: 200, body: {} };
  const condition = { TableName, ConditionExpression, ...usedIn(ConditionExpression, input) };
  return image
    ? call('PutItem', { ...condition, Item: image })
    : call('DeleteItem', { ...condition, Key: key });
}

/** The reasons of a refused transaction that has changed nothing: one for each of its writes. */
async function reasonsOf(writes: Write[], call: StoreCall): Promise<Record<string, unknown>[]> {
  const reasons: Record<string, unknown>[] = [];
  for (const write of writes) {
    const tried = await tryCondition(write, call);
    reasons.push(tried.status === 200 ? { Code: 'None' } : reasonOfRefusal(write));
  }
  return reasons;
}

const consumedSchema = v.object({ ConsumedCapacity: v.object({ CapacityUnits: v.number() }) });

async function writeJournal(TableName: string, images: object[], call: StoreCall): Promise<void> {
  const Item = { ...journalKey, images: { S: JSON.stringify(images) } };
  const { status, body } = await call('PutItem', { TableName, Item });
  if (status !== 200) throw new Error(`The journal was not written: ${JSON.stringify(body)}`);
}

const deleteJournal = (TableName: string, call: StoreCall): Promise<Answer> =>
  call('DeleteItem', { TableName, Key: journalKey });

/** The images of a transaction that a kill has interrupted, if any. */
async function readJournal(TableName: string, call: StoreCall) {
  const { body } = await call('GetItem', { TableName, Key: journalKey, ConsistentRead: true });
  const { Item } = v.parse(v.object({ Item: v.optional(itemSchema) }), body);
  return v.parse(journalSchema, JSON.parse(String(Item?.images?.S ?? '[]')));
}

/** Puts items back as they were. */
async function undo(
  TableName: string,
  images: v.InferOutput<typeof journalSchema>,
  call: StoreCall,
) {
  for (const { key, image } of images) {
    const restored = image
      ? await call('PutItem', { TableName, Item: image })
      : await call('DeleteItem', { TableName, Key: key });
    if (restored.status !== 200) throw new Error('A transaction could not be undone.');
  }
}

/** The key of an item that is written: its own member of the input, or two attributes. */
export function keyOfWrite({
  Key,
  Item = {},
}: {
  Key?: Item | undefined;
  Item?: Item | undefined;
}): Item {
  const { [table.partitionKey]: pk = {}, [table.sortKey]: sk = {} } = Key ?? Item;
  return { [table.partitionKey]: pk, [table.sortKey]: sk };
}

/** The names and values that an expression uses. The store refuses others. */
function usedIn(
  expression: string,
  { ExpressionAttributeNames, ExpressionAttributeValues }: Write['input'],
) {
  const used = new Set(expression.match(/[#:]\w+/g));
  return {
    ExpressionAttributeNames: only(used, ExpressionAttributeNames),
    ExpressionAttributeValues: only(used, ExpressionAttributeValues),
  };
}

/** The members of a map with certain names; undefined if there are none. */
function only(names: Set<string>, map: object = {}): object | undefined {
  const members = Object.entries(map).filter(([name]) => names.has(name));
  return members.length > 0 ? Object.fromEntries(members) : undefined;
}

const reasonOfRefusal = ({ input, image }: Write) => ({
  Code: 'ConditionalCheckFailed',
  Message: 'The conditional request failed',
  Item: input.ReturnValuesOnConditionCheckFailure === 'ALL_OLD' ? image : undefined,
});

function cancelled(CancellationReasons: Record<string, unknown>[]): Answer {
  const codes = CancellationReasons.map(({ Code }) => Code).join(', ');
  const message = `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes}]`;
  const { status, body } = refusal('TransactionCanceledException', message);
  return { status, body: { ...body, Message: message, CancellationReasons } };
}

const refusal = (name: string, message: string): Answer => ({
  status: 400,
  body: { __type: `com.amazonaws.dynamodb.v20120810#${name}`, message },
});

const isNamed = ({ body }: Answer, name: string): boolean =>
  String(body.__type).endsWith(`#${name}`);
