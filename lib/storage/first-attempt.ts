import { Agent, request as requestHttp } from 'node:http';
import { request as requestHttps, Agent as TlsAgent } from 'node:https';
import type { AttributeValue, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import * as v from 'valibot';
import { requestSigner } from './signature.ts';

const contentType = 'application/x-amz-json-1.0';

const endpointSchema = v.object({
  protocol: v.string(),
  hostname: v.string(),
  port: v.optional(v.number()),
  path: v.string(),
  headers: v.object({ host: v.string() }),
});
type Endpoint = v.InferOutput<typeof endpointSchema>;

/** An answer in the SDK's form. */
interface Answer {
  statusCode: number;
  headers: Record<string, unknown>;
  body: Uint8Array;
}

type Command = Parameters<DynamoDBDocumentClient['send']>[0];

/** The operation of a command of the document client: `GetItem`. */
export const operationOf = (command: Command): string => Object(command).clientCommand.schema[2];

/**
 * Lets a client make the first attempt of each call without the SDK's middlewares, which take most of its CPU time. Any outcome
 * but a 200 goes to the SDK as if it had sent the request: it reads the error, corrects the clock and repeats. The first call
 * goes the SDK's way, which tells the endpoint, and so do transactions, which are rare and nest their items deeper. Middlewares
 * see only calls of the SDK, and abort signals are ignored.
 * @param milliseconds without a sign of the store, after which an attempt fails
 * @see Amazon DynamoDB developer guide, "DynamoDB low-level API"
 */
export function makeFirstAttempts(client: DynamoDBDocumentClient, milliseconds: number): void {
  const { config, middlewareStack } = client;
  const sendBySdk = client.send.bind(client);
  let endpoint: Endpoint | undefined;
  let sign: ReturnType<typeof requestSigner> | undefined;
  let noteSuccess: (() => void) | undefined;

  middlewareStack.add(
    (next) => (args) => {
      endpoint ??= v.parse(endpointSchema, args.request);
      return next(args);
    },
    { step: 'deserialize', name: 'noteEndpoint' },
  );

  async function send(command: Command): Promise<object> {
    if (!endpoint || operationOf(command) === 'TransactWriteItems') return sendBySdk(command);
    sign ??= requestSigner(await config.region(), 'dynamodb');
    noteSuccess ??= await successNoter(config);
    const target = `DynamoDB_20120810.${operationOf(command)}`;
    const body = JSON.stringify(converted(command.input, toStore));
    const { host } = endpoint.headers;
    const time = new Date(Date.now() + config.systemClockOffset);
    const parts = { host, path: endpoint.path, contentType, target, body, time };
    const headers = sign(parts, await config.credentials());
    try {
      const response = await exchange(endpoint, headers, body, milliseconds);
      if (response.statusCode === 200) {
        const output = converted(JSON.parse(response.body.toString()), fromStore);
        noteSuccess();
        return { ...output, $metadata: { httpStatusCode: 200, attempts: 1 } };
      }
      beginWith(command, () => ({ ...response, body: new Uint8Array(response.body) }));
    } catch (error) {
      beginWith(command, () => {
        throw error;
      });
    }
    return sendBySdk(command);
  }
  Object.assign(client, { send });
}

/** Lets the SDK take the outcome of the first attempt for its own. */
function beginWith(command: Command, outcome: () => Answer): void {
  let isFirst = true;
  command.middlewareStack.add(
    (next) => async (args) => {
      if (!isFirst) return next(args);
      isFirst = false;
      return { response: outcome() };
    },
    // No name, since a command of the document client is resolved twice.
    { step: 'deserialize', priority: 'low' },
  );
}

/** Tells the SDK of a success, which refills its quota of repetitions. */
async function successNoter(config: DynamoDBClient['config']): Promise<() => void> {
  const strategy = await config.retryStrategy();
  if (!('recordSuccess' in strategy)) return () => {};
  const token = await strategy.acquireInitialRetryToken('');
  return () => strategy.recordSuccess(token);
}

const pool = { keepAlive: true, maxSockets: 50 };
const plain = { send: requestHttp, agent: new Agent(pool) };
const secured = { send: requestHttps, agent: new TlsAgent(pool) };

/** Sends a request and reads the answer. @throws Error of Node's `http`, or a `TimeoutError` */
const exchange = (
  { protocol, hostname, port, path }: Endpoint,
  headers: Record<string, string>,
  body: string,
  timeout: number,
) =>
  new Promise<Answer & { body: Buffer }>((resolve, reject) => {
    const { send, agent } = protocol === 'https:' ? secured : plain;
    const request = send({ method: 'POST', hostname, port, path, headers, agent, timeout });
    request.on('timeout', () => {
      const error = new Error(`The store gave no sign for ${timeout} ms.`);
      request.destroy(Object.assign(error, { name: 'TimeoutError' }));
    });
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('error', reject);
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const { statusCode = 0, headers } = response;
        resolve({ statusCode, headers, body: Buffer.concat(chunks) });
      });
    });
    request.end(body);
  });

type AttributeMap = Record<string, AttributeValue>;
type Convert = (map: AttributeMap) => object;
const isMap = (value: unknown): value is AttributeMap => typeof value === 'object' && value !== null;

/** The members of messages that are a map of attributes, or a list of them. */
const mapped = new Set(
  'Key Keys Item Items Attributes ExpressionAttributeValues ExclusiveStartKey LastEvaluatedKey'.split(' '),
);

/** A message with its maps of attributes converted, also within the members of tables. */
const converted = (message: object, convert: Convert, areLists = false): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(message).map(([name, value]: [string, unknown]) => {
      const isMapped = areLists || mapped.has(name);
      if (Array.isArray(value)) return [name, isMapped ? value.map(convert) : value];
      if (!isMap(value) || name === 'ExpressionAttributeNames') return [name, value];
      return [name, isMapped ? convert(value) : converted(value, convert, name === 'Responses')];
    }),
  );

const toStore = (map: AttributeMap) => marshall(map, { removeUndefinedValues: true });
const fromStore = (map: AttributeMap) => unmarshall(map);
