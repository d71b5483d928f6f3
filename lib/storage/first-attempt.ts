import { Agent, request as requestHttp } from 'node:http';
import { request as requestHttps, Agent as TlsAgent } from 'node:https';
import type { AttributeValue, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import * as v from 'valibot';
import { requestSigner } from './signature.ts';

const contentType = 'application/x-amz-json-1.0';

/** The address of the store. */
const endpointSchema = v.object({
  protocol: v.string(),
  hostname: v.string(),
  port: v.optional(v.number()),
  path: v.string(),
  headers: v.object({ host: v.string() }),
});
type Endpoint = v.InferOutput<typeof endpointSchema>;

/** The answer to a request, in the form of the SDK's own. */
interface Answer {
  statusCode: number;
  headers: Record<string, unknown>;
  body: Uint8Array;
}

/**
 * Lets a client make the first attempt of each call by itself, at half the CPU time of the SDK's middlewares: a signed POST
 * with a JSON body. Whatever comes of it but a 200, the SDK gets as if it had sent the request itself: it reads the error,
 * corrects the clock and repeats, with its own pauses and counts. The first call of all goes the SDK's way, which tells the
 * endpoint. Middlewares of the step `initialize` alone see each call; a signal that aborts one is not heard here.
 * @param milliseconds without a sign of the store after which an attempt is given up
 * @see Amazon DynamoDB developer guide, "DynamoDB low-level API"
 */
export function makeFirstAttempts({ config, middlewareStack }: DynamoDBClient, milliseconds: number): void {
  let endpoint: Endpoint | undefined;
  let sign: ReturnType<typeof requestSigner> | undefined;
  let noteSuccess: (() => void) | undefined;
  /** Errors and answers of first attempts that the SDK has to deal with, by the context of their calls. */
  const failures = new WeakMap<object, () => Answer>();

  middlewareStack.add(
    (next, context) => async (args) => {
      if (!endpoint) return next(args);
      sign ??= requestSigner(await config.region(), 'dynamodb');
      noteSuccess ??= await successNoter(config);
      const target = `DynamoDB_20120810.${context.commandName?.replace(/Command$/, '')}`;
      const body = JSON.stringify(converted(args.input, toStore));
      const { host } = endpoint.headers;
      const time = new Date(Date.now() + config.systemClockOffset);
      const parts = { host, path: endpoint.path, contentType, target, body, time };
      const headers = sign(parts, await config.credentials());
      try {
        const response = await exchange(endpoint, headers, body, milliseconds);
        if (response.statusCode === 200) {
          const output = converted(JSON.parse(response.body.toString()), fromStore);
          noteSuccess();
          return { response, output: { ...output, $metadata: { httpStatusCode: 200, attempts: 1 } } };
        }
        failures.set(context, () => ({ ...response, body: new Uint8Array(response.body) }));
      } catch (error) {
        failures.set(context, () => {
          throw error;
        });
      }
      return next(args);
    },
    { step: 'initialize', priority: 'low', name: 'firstAttempt' },
  );
  middlewareStack.add(
    (next, context) => async (args) => {
      endpoint ??= v.parse(endpointSchema, args.request);
      const failure = failures.get(context);
      failures.delete(context);
      return failure ? { response: failure() } : next(args);
    },
    { step: 'deserialize', priority: 'low', name: 'failedFirstAttempt' },
  );
}

/** Lets the SDK know of a success: each refills the quota that its repetitions use up. */
async function successNoter(config: DynamoDBClient['config']): Promise<() => void> {
  const strategy = await config.retryStrategy();
  if (!('recordSuccess' in strategy)) return () => {};
  const token = await strategy.acquireInitialRetryToken('');
  return () => strategy.recordSuccess(token);
}

const agents = {
  http: new Agent({ keepAlive: true, maxSockets: 50 }),
  https: new TlsAgent({ keepAlive: true, maxSockets: 50 }),
};

/** Sends a request and reads the whole answer. @throws Error as Node's `http` has it, or a `TimeoutError` */
const exchange = (
  { protocol, hostname, port, path }: Endpoint,
  headers: Record<string, string>,
  body: string,
  milliseconds: number,
) =>
  new Promise<Answer & { body: Buffer }>((resolve, reject) => {
    const isTls = protocol === 'https:';
    const send = isTls ? requestHttps : requestHttp;
    const agent = isTls ? agents.https : agents.http;
    const request = send({ method: 'POST', hostname, port, path, headers, agent });
    const noSign = new Error(`The store gave no sign for ${milliseconds} ms.`);
    const timer = setTimeout(
      () => request.destroy(Object.assign(noSign, { name: 'TimeoutError' })),
      milliseconds,
    );
    const fail = (error: Error) => {
      clearTimeout(timer);
      reject(error);
    };
    request.on('error', fail);
    request.on('socket', (socket) => {
      if (socket.connecting) socket.once('connect', () => timer.refresh());
    });
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('error', fail);
      response.on('data', (chunk: Buffer) => {
        timer.refresh();
        chunks.push(chunk);
      });
      response.on('end', () => {
        clearTimeout(timer);
        const { statusCode = 0, headers } = response;
        resolve({ statusCode, headers, body: Buffer.concat(chunks) });
      });
    });
    request.end(body);
  });

type AttributeMap = Record<string, AttributeValue>;
type Convert = (map: AttributeMap) => object;
const isMap = (value: unknown): value is AttributeMap => typeof value === 'object' && value !== null;
const isList = (value: unknown): value is AttributeMap[] => Array.isArray(value);

const mapValues = (map: object, change: (value: unknown) => unknown): Record<string, unknown> =>
  Object.fromEntries(Object.entries(map).map(([name, value]) => [name, change(value)]));

const one = (value: unknown, convert: Convert) => (isMap(value) ? convert(value) : value);
const list = (value: unknown, convert: Convert) => (isList(value) ? value.map(convert) : value);

/** The members of messages that have maps of attributes: one, a list, or some for each table. */
const members: Record<string, (value: unknown, convert: Convert) => unknown> = {
  Key: one,
  Item: one,
  ExpressionAttributeValues: one,
  ExclusiveStartKey: one,
  LastEvaluatedKey: one,
  Attributes: one,
  Keys: list,
  Items: list,
  Responses: (tables, convert) => isMap(tables) && mapValues(tables, (items) => list(items, convert)),
  RequestItems: forTables,
  UnprocessedKeys: forTables,
};

function forTables(tables: unknown, convert: Convert): unknown {
  return isMap(tables) && mapValues(tables, (request) => isMap(request) && converted(request, convert));
}

const converted = (message: object, convert: Convert): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(message).map(([name, value]: [string, unknown]) => [
      name,
      members[name]?.(value, convert) ?? value,
    ]),
  );

const toStore = (map: AttributeMap) => marshall(map, { removeUndefinedValues: true });
const fromStore = (map: AttributeMap) => unmarshall(map);
