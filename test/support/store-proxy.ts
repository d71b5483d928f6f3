import { once } from 'node:events';
import {
  Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  request as requestTo,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type LoopbackServer, readBody, serve } from '../../infra/local/loopback-server.ts';
import { table } from '../../lib/storage/table.ts';
import type { TestStore } from './own-table.ts';

export interface StoreCall {
  /** `GetItem`, `Query` … */
  operation: string;
  /** The request, as DynamoDB's JSON. */
  body: Record<string, unknown>;
  /** Capacity units that the store says it took; known when it has answered. */
  units: number;
  /** Bytes of the store's answer, without what it says it consumed. */
  bytes: number;
}

/**
 * Fault of a call: it fails undone or done, as when the writer dies; or its answer is lost, and the
 * SDK sends it again.
 */
export type Fault = 'fails before' | 'fails after' | LostAnswer;
export type LostAnswer = 'answer lost' | 'answer stalls';

/** Each of so many writes, to fail before or after it is done. */
export const everyCrash = (writes: number): [Fault, number][] =>
  (['fails before', 'fails after'] as const).flatMap((fault) =>
    Array.from({ length: writes }, (_, place): [Fault, number] => [fault, place]),
  );

export interface StoreAnswer {
  status: number;
  body: unknown;
}

/**
 * Sees each call before the store does. May take its time, let it go wrong, or answer in the
 * store's place.
 */
export type StoreHook = (
  call: StoreCall,
) => Promise<Fault | StoreAnswer | undefined> | Fault | StoreAnswer | undefined;

export type StoreProxy = Awaited<ReturnType<typeof startStoreProxy>>;

/**
 * Lets one call of an action go wrong.
 * @param counts which calls are numbered, from 0.
 * @default all
 */
export async function failing<T>(
  proxy: StoreProxy,
  [number, fault]: readonly [number: number, fault: Fault],
  action: () => Promise<T>,
  counts: (call: StoreCall) => boolean = () => true,
): Promise<{ result: T; happened: boolean }> {
  let seen = 0;
  const hook: StoreHook = (call) => (counts(call) && seen++ === number ? fault : undefined);
  const result = await proxy.during(hook, action);
  return { result, happened: seen > number };
}

/** The global index of lists lags behind: it knows of nothing. */
export const listsLag: StoreHook = ({ operation, body }) =>
  operation === 'Query' && body.IndexName === 'by_list'
    ? { status: 200, body: { Items: [], Count: 0, ScannedCount: 0 } }
    : undefined;

/** What DynamoDB answers to a request that it takes for malformed. */
const failure: StoreAnswer = {
  status: 400,
  body: { __type: 'com.amazon.coral.validate#ValidationException', message: 'Told to fail.' },
};

/**
 * Stands between service and store: records calls and costs, and lets a hook disturb them. Fails a
 * read of the table that is not consistent, which the store in memory always is.
 * @param listening a server that answers as the proxy; by default it starts one
 */
export async function startStoreProxy(store: TestStore, listening?: Server) {
  let calls: StoreCall[] = [];
  /** The calls that have failed and may be sent once more, by the SDK: that one fails, too. */
  const failed = new Set<string>();
  const agent = new Agent({ keepAlive: true });
  const forward = ({ headers }: IncomingMessage, call: StoreCall) =>
    callStore(store, agent, headers, call);
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [, operation = ''] = String(request.headers['x-amz-target']).split('.');
    const body = JSON.parse((await readBody(request)).toString() || '{}');
    const call = { operation, body, units: 0, bytes: 0 };
    const name = nameOf(call);
    if (failed.delete(name)) return send(response, failure);
    calls.push(call);
    if (mayBeOutdated(call)) return send(response, failure);
    const outcome = await proxy.hook(call);
    if (typeof outcome === 'object') return send(response, outcome);
    if (outcome === 'fails before' || outcome === 'fails after') failed.add(name);
    if (outcome === 'fails before') return send(response, failure);
    const answer = await forward(request, call);
    if (outcome === 'fails after') return send(response, failure);
    if (outcome === 'answer lost') return void response.destroy();
    if (outcome === 'answer stalls') return;
    send(response, answer);
  };
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    handle(request, response).catch(() => response.destroy());
  };
  const server = listening ? borrow(listening, listener) : await serve(listener);
  const proxy = {
    url: server.url,
    close: async (): Promise<void> => {
      await server.close();
      agent.destroy();
    },
    /** The calls since the last `forget`, in their order. */
    calls: () => calls,
    forget: (): void => {
      calls = [];
    },
    hook: (() => undefined) as StoreHook,
    during: async <T>(hook: StoreHook, action: () => Promise<T>): Promise<T> => {
      proxy.hook = hook;
      return action().finally(() => {
        proxy.hook = () => undefined;
        failed.clear();
      });
    },
  };
  return proxy;
}

/** The same for two calls with one meaning, whatever the order of their members. */
const nameOf = ({ operation, body }: StoreCall): string =>
  JSON.stringify([operation, body], (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );

/** Lets a server that listens answer with this listener, until it is closed. */
function borrow(server: Server, listener: RequestListener): LoopbackServer {
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('The server does not listen.');
  server.on('request', listener);
  const close = async () => {
    server.off('request', listener);
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${address.port}`, close };
}

const reads = new Set(['GetItem', 'BatchGetItem', 'Query']);
const mayBeOutdated = ({ operation, body }: StoreCall): boolean =>
  reads.has(operation) &&
  !JSON.stringify(body).includes('"ConsistentRead":true') &&
  !(String(body.IndexName) in table.globalIndexes);

const writes = ['PutItem', 'UpdateItem', 'DeleteItem', 'TransactWriteItems'];
const measured = new Set([...reads, ...writes]);

/** Has the store do a call and say what it cost. */
async function callStore(
  { url, ask }: TestStore,
  agent: Agent,
  headers: IncomingHttpHeaders,
  call: StoreCall,
): Promise<StoreAnswer> {
  const measure = measured.has(call.operation) && { ReturnConsumedCapacity: 'TOTAL' };
  const asked = { headers, body: JSON.stringify({ ...call.body, ...measure }) };
  const answer = await (ask ? ask(asked) : askAt(url, agent, asked));
  const body = JSON.parse(answer.body || '{}');
  const consumed: { CapacityUnits: number }[] = [body.ConsumedCapacity ?? []].flat();
  const { ConsumedCapacity: _, ...content } = body;
  call.bytes = Buffer.byteLength(JSON.stringify(content));
  call.units = consumed.reduce((sum, { CapacityUnits }) => sum + CapacityUnits, 0);
  return { status: answer.status, body };
}

/** Asks a store in another process. */
async function askAt(
  url: string,
  agent: Agent,
  { headers, body }: { headers: IncomingHttpHeaders; body: string },
) {
  const request = requestTo(url, {
    method: 'POST',
    agent,
    headers: {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': String(headers['x-amz-target']),
      'x-amz-date': String(headers['x-amz-date']),
      authorization: String(headers.authorization),
    },
  });
  request.end(body);
  const [response]: IncomingMessage[] = await once(request, 'response');
  const text = response ? (await readBody(response)).toString() : '';
  return { status: response?.statusCode ?? 500, body: text };
}

const send = (response: ServerResponse, { status, body }: StoreAnswer): void =>
  void response
    .writeHead(status, { 'content-type': 'application/x-amz-json-1.0' })
    .end(JSON.stringify(body));

export const isWrite = ({ operation }: StoreCall): boolean => writes.includes(operation);

/**
 * What a request costs: each call to the store, the bytes of its answer, and the response itself.
 */
export async function costOf(
  proxy: StoreProxy,
  send: () => Promise<{ status: number; text: string }>,
) {
  proxy.forget();
  const { status, text } = await send();
  const calls = proxy.calls().map(({ operation, units, bytes }) => ({ operation, units, bytes }));
  return { status, text, calls };
}
