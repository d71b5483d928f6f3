import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { readBody, serve } from '../../infra/local/loopback-server.ts';

/** One call of the service to its store. */
export interface StoreCall {
  /** `GetItem`, `Query` … */
  operation: string;
  /** The request, as DynamoDB's JSON. */
  body: Record<string, unknown>;
}

/** What the proxy answers instead of the store. */
export interface StoreAnswer {
  status: number;
  body: unknown;
}

/** Sees each call before the store does. May take its time, and may answer in the store's place. */
export type StoreHook = (call: StoreCall) => Promise<StoreAnswer | undefined> | StoreAnswer | undefined;

/** Stands between the service and its store, counts the calls and lets a hook answer some of them. */
export interface StoreProxy {
  url: string;
  /** The calls since the last `forget`, in their order. */
  calls: () => StoreCall[];
  forget: () => void;
  hook: StoreHook;
  close(): Promise<void>;
}

export async function startStoreProxy(endpoint: string): Promise<StoreProxy> {
  let calls: StoreCall[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const bytes = await readBody(request);
    const operation = String(request.headers['x-amz-target']).split('.')[1] ?? '';
    const call = { operation, body: JSON.parse(bytes.toString() || '{}') };
    calls.push(call);
    const answer = await proxy.hook(call);
    if (!answer) return forward(endpoint, request, bytes, response);
    response.writeHead(answer.status, { 'content-type': 'application/x-amz-json-1.0' });
    response.end(JSON.stringify(answer.body));
  };
  const server = await serve((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  const proxy: StoreProxy = {
    ...server,
    calls: () => calls,
    forget: () => {
      calls = [];
    },
    hook: () => undefined,
  };
  return proxy;
}

/** Hands a request on as it came, so that its signature and the checksum of the answer stay right. */
const forward = (endpoint: string, from: IncomingMessage, bytes: Buffer, to: ServerResponse) =>
  new Promise<void>((resolve, reject) => {
    const { method = 'POST', url = '/', headers } = from;
    httpRequest(new URL(url, endpoint), { method, headers }, (answer) => {
      to.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(to).on('finish', resolve).on('error', reject);
    })
      .on('error', reject)
      .end(bytes);
  });

/** What DynamoDB answers to a request that it takes for malformed: the SDK does not try it again. */
export const storeFailure: StoreAnswer = {
  status: 400,
  body: {
    __type: 'com.amazon.coral.validate#ValidationException',
    message: 'The store fails, as it was told to.',
  },
};
