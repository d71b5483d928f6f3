import type { IncomingMessage, ServerResponse } from 'node:http';
import { readBody, serve } from '../../infra/local/loopback-server.ts';

/** One call of the service to its store. */
export interface StoreCall {
  /** `GetItem`, `Query` … */
  operation: string;
  /** The request, as DynamoDB's JSON. */
  body: Record<string, unknown>;
  /** Capacity units that the store says it took; known when it has answered. */
  units: number;
}

/**
 * What goes wrong with a call: it fails for good without having been done, or after having been done, as when
 * the writer dies there; or it is done and its answer is lost, which makes the SDK send it again.
 */
export type Fault = 'fails before' | 'fails after' | 'answer lost';

/** Stands between the service and its store: counts the calls, what they cost, and lets some go wrong. */
export interface FaultProxy {
  url: string;
  /** The calls since the last `forget`, in their order. */
  calls: () => StoreCall[];
  forget: () => void;
  /** Sees each call before the store does, may take its time, and says what goes wrong with it. */
  hook: (call: StoreCall) => Promise<Fault | undefined> | Fault | undefined;
  close(): Promise<void>;
}

export async function startFaultProxy(endpoint: string): Promise<FaultProxy> {
  let calls: StoreCall[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const operation = String(request.headers['x-amz-target']).split('.')[1] ?? '';
    const body = JSON.parse((await readBody(request)).toString() || '{}');
    const call = { operation, body, units: 0 };
    calls.push(call);
    const fault = await proxy.hook(call);
    if (fault === 'fails before') return fail(response);
    const answer = await forward(endpoint, request, call);
    if (fault === 'fails after') return fail(response);
    if (fault === 'answer lost') return void response.destroy();
    response.writeHead(answer.status, { 'content-type': 'application/x-amz-json-1.0' }).end(answer.text);
  };
  const server = await serve((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  const proxy: FaultProxy = {
    ...server,
    calls: () => calls,
    forget: () => {
      calls = [];
    },
    hook: () => undefined,
  };
  return proxy;
}

const measured = new Set(['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem']);

/** Has the store do a call and say what it cost. */
async function forward(
  endpoint: string,
  { headers }: IncomingMessage,
  call: StoreCall,
): Promise<{ status: number; text: string }> {
  const measure = measured.has(call.operation) && { ReturnConsumedCapacity: 'TOTAL' };
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': String(headers['x-amz-target']),
      'x-amz-date': String(headers['x-amz-date']),
      authorization: String(headers.authorization),
    },
    body: JSON.stringify({ ...call.body, ...measure }),
  });
  const text = await response.text();
  const consumed: { CapacityUnits: number }[] = [JSON.parse(text || '{}').ConsumedCapacity ?? []].flat();
  call.units = consumed.reduce((sum, { CapacityUnits }) => sum + CapacityUnits, 0);
  return { status: response.status, text };
}

/** As DynamoDB refuses a request that it takes for malformed: the SDK does not try it again. */
const fail = (response: ServerResponse): void =>
  void response
    .writeHead(400, { 'content-type': 'application/x-amz-json-1.0' })
    .end(
      JSON.stringify({ __type: 'com.amazon.coral.validate#ValidationException', message: 'Told to fail.' }),
    );
