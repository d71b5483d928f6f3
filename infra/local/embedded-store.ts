// The embedded store: dynalite in this process, with what it lacks in front of it. Transactions are
// served there, and whoever wants to know gets each change of an item, as from a stream.

import { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders, Server } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import dynalite from 'dynalite';
import * as v from 'valibot';
import { type LoopbackServer, listen, readBody } from './loopback-server.ts';
import {
  type Answer,
  type Item,
  itemSchema,
  keyOfWrite,
  type StoreCall,
  transactions,
} from './transactions.ts';

export interface EmbeddedStore extends LoopbackServer {
  server: Server;
  /** Asks the store from within this process, without a connection. */
  ask(request: StoreRequest): Promise<StoreAnswer>;
}

/** A request of DynamoDB's API. */
interface StoreRequest {
  method?: string | undefined;
  headers: IncomingHttpHeaders;
  body: string;
}

interface StoreAnswer {
  status: number;
  body: string;
}

/** An item before and after a change; undefined while it does not exist. */
export interface StoreChange {
  key: Item;
  before: Item | undefined;
  after: Item | undefined;
}

export interface StoreOptions {
  /** The folder of the data; without it they end with the process. */
  path?: string | undefined;
  /** Takes each change: those of one item in their order, before the writer has its answer. */
  takeChange?: ((change: StoreChange) => void) | undefined;
}

/** Starts the store. It undoes a transaction that a kill has interrupted. */
export async function startEmbeddedStore(options: StoreOptions = {}): Promise<EmbeddedStore> {
  const { path, takeChange } = options;
  const server = dynalite({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0, path });
  const askDynalite = requestsTo(server);
  const call = async (operation: string, input: object): Promise<Answer> => {
    const { status, body } = await askDynalite(requestOf(operation, input));
    return { status, body: JSON.parse(body) };
  };
  const ofTransactions = transactions(call, path !== undefined);
  const { alone, together } = turns();

  const transact = async (request: StoreRequest): Promise<StoreAnswer> => {
    const { status, body } = await ofTransactions.answer(JSON.parse(request.body));
    return { status, body: JSON.stringify(body) };
  };

  const ask = (request: StoreRequest): Promise<StoreAnswer> => {
    const operation = operationOf(request);
    const isTransaction = operation === 'TransactWriteItems';
    const isWrite = isTransaction || writes.has(operation);
    const answer = () => (isTransaction ? transact(request) : askDynalite(request));
    // The items are read before and after, and no other write may come between.
    if (takeChange && isWrite)
      return alone(async () => watched(JSON.parse(request.body), answer, call, takeChange));
    // A transaction is made of several calls, and nobody may see half of it.
    return isTransaction ? alone(answer) : together(answer);
  };

  await ofTransactions.undoInterrupted();
  server.removeAllListeners('request');
  server.on('request', async (request, response) => {
    const { method, headers } = request;
    const answer = await ask({ method, headers, body: (await readBody(request)).toString() });
    response
      .writeHead(answer.status, { 'content-type': 'application/x-amz-json-1.0' })
      .end(answer.body);
  });
  return { ...(await listen(server, 0)), server, ask };
}

/** Operations on single items that change them. A transaction has several of them. */
const writes = new Set(['PutItem', 'UpdateItem', 'DeleteItem', 'BatchWriteItem']);

const operationOf = ({ headers }: StoreRequest): string =>
  String(headers['x-amz-target']).split('.')[1] ?? '';

/** Signed requests of this process itself: the store doesn't check the signature. */
const requestOf = (operation: string, input: object): StoreRequest => ({
  headers: {
    'content-type': 'application/x-amz-json-1.0',
    'x-amz-target': `DynamoDB_20120810.${operation}`,
    'x-amz-date': '20260101T000000Z',
    authorization:
      'AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0',
  },
  body: JSON.stringify(input),
});

/**
 * Asks a server by its listener for requests, with as much of a request and a response as
 * dynalite's uses: a transaction makes many small calls, and a connection costs more than the call.
 */
function requestsTo(server: Server) {
  const [listener] = server.listeners('request');
  if (!listener) throw new Error('The store has no listener.');
  return (asked: StoreRequest): Promise<StoreAnswer> => {
    const { method = 'POST', headers } = asked;
    const { promise, resolve } = Promise.withResolvers<StoreAnswer>();
    const request = Object.assign(new EventEmitter(), { method, url: '/', headers });
    const response = {
      statusCode: 200,
      setHeader: () => {},
      end: (body = '') => resolve({ status: response.statusCode, body }),
    };
    Reflect.apply(listener, server, [request, response]);
    if (asked.body !== '') request.emit('data', Buffer.from(asked.body));
    request.emit('end');
    return promise;
  };
}

/** Lets some calls run together, and others alone: each alone waits for all before it. */
function turns() {
  /** Ends when the last one that runs alone has ended. */
  let gate = Promise.resolve();
  const underWay = new Set<Promise<unknown>>();
  const together = async <Result>(run: () => Promise<Result>): Promise<Result> => {
    await gate;
    const running = run();
    underWay.add(running);
    return running.finally(() => underWay.delete(running));
  };
  const alone = async <Result>(run: () => Promise<Result>): Promise<Result> => {
    const before = gate;
    const { promise, resolve: open } = Promise.withResolvers<void>();
    gate = promise;
    await before;
    await Promise.allSettled(underWay);
    return run().finally(open);
  };
  return { together, alone };
}

/** A single write, also as a part of another call. */
const writeSchema = v.object({
  TableName: v.string(),
  Key: v.optional(itemSchema),
  Item: v.optional(itemSchema),
});
type Write = v.InferOutput<typeof writeSchema>;

const inTransactionSchema = v.object({ TransactItems: v.array(v.record(v.string(), writeSchema)) });

const inBatchSchema = v.object({
  RequestItems: v.record(
    v.string(),
    v.array(v.record(v.string(), v.omit(writeSchema, ['TableName']))),
  ),
});

/** The writes of a call; none if the call is malformed, which the store refuses. */
function writesOf(input: unknown): Write[] {
  if (v.is(writeSchema, input)) return [input];
  if (v.is(inTransactionSchema, input)) return input.TransactItems.flatMap(Object.values<Write>);
  if (!v.is(inBatchSchema, input)) return [];
  return Object.entries(input.RequestItems).flatMap(([TableName, requests]) =>
    requests.flatMap((request) => Object.values(request).map((keyed) => ({ TableName, ...keyed }))),
  );
}

/** Makes the writes of a call, and hands on what they have changed. */
async function watched<Result>(
  input: unknown,
  write: () => Promise<Result>,
  call: StoreCall,
  takeChange: (change: StoreChange) => void,
): Promise<Result> {
  const written = writesOf(input).map((one) => ({
    TableName: one.TableName,
    Key: keyOfWrite(one),
  }));
  const read = () => Promise.all(written.map((one) => itemAt(one, call)));
  const before = await read();
  const result = await write();
  const after = await read();
  for (const [place, { Key }] of written.entries()) {
    const change = { key: Key, before: before[place], after: after[place] };
    if (!isDeepStrictEqual(change.before, change.after)) takeChange(change);
  }
  return result;
}

const foundSchema = v.object({ Item: v.optional(itemSchema) });

/** An item of a table; undefined if there is none. */
async function itemAt(
  { TableName, Key }: { TableName: string; Key: Item },
  call: StoreCall,
): Promise<Item | undefined> {
  const { body } = await call('GetItem', { TableName, Key, ConsistentRead: true });
  return v.parse(foundSchema, body).Item;
}
