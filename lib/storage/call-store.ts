// Calls of the store by one signed request each, which take a fifth of the CPU time that the SDK's
// document client takes. Whatever is not plainly an answer (a throttled, late, broken or otherwise
// refused call) goes to the document client with the same input, which repeats it as the SDK does.
//
// What these calls can't do: attributes with bytes, abort signals, and middlewares of the SDK.

import { Agent, request as requestHttp } from 'node:http';
import { request as requestHttps, Agent as TlsAgent } from 'node:https';
import { text } from 'node:stream/consumers';
import { type AttributeValue, ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import * as documents from '@aws-sdk/lib-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import * as v from 'valibot';
import { requestSigner } from '../foundation/aws-signature.ts';

/** The inputs of the operations that the service uses, as the document client takes them. */
interface Inputs {
  GetItem: documents.GetCommandInput;
  BatchGetItem: documents.BatchGetCommandInput;
  Query: documents.QueryCommandInput;
  PutItem: documents.PutCommandInput;
  UpdateItem: documents.UpdateCommandInput;
  DeleteItem: documents.DeleteCommandInput;
  TransactWriteItems: documents.TransactWriteCommandInput;
}
type Operation = keyof Inputs;

/** Items and keys, of JavaScript's values. */
type Item = Record<string, unknown>;

/** An output of any operation, as the document client gives it. */
export interface Output {
  Item?: Item | undefined;
  Items?: Item[] | undefined;
  Attributes?: Item | undefined;
  Count?: number | undefined;
  /** A list of all tables for a batch or a transaction. */
  ConsumedCapacity?: unknown;
  LastEvaluatedKey?: Item | undefined;
  Responses?: Record<string, Item[]> | undefined;
  UnprocessedKeys?: Record<string, { Keys?: Item[] | undefined }> | undefined;
}

/**
 * Calls the store.
 * @throws the errors of the document client
 */
export type CallStore = <Name extends Operation>(
  name: Name,
  input: Inputs[Name],
) => Promise<Output>;

/**
 * Makes the function that calls the store of a client. The first call goes by the client, from
 * which the address is learned, and so do transactions, which are rare.
 * @param milliseconds without a sign of the store, after which a request fails and the client takes
 *   over
 */
export function storeCaller(
  client: documents.DynamoDBDocumentClient,
  milliseconds: number,
): CallStore {
  const { config } = client;
  const byClient = callerByClient(client);
  let endpoint: Endpoint | undefined;
  let sign: ReturnType<typeof requestSigner> | undefined;

  client.middlewareStack.add(
    (next) => (args) => {
      endpoint ??= v.parse(endpointSchema, args.request);
      return next(args);
    },
    { step: 'deserialize', name: 'learnEndpoint' },
  );

  /**
   * The answer to one request; undefined if it is none that can be taken.
   * @throws ConditionalCheckFailedException
   */
  async function callOnce(to: Endpoint, name: Operation, input: NativeInput) {
    sign ??= requestSigner(await config.region(), 'dynamodb');
    const body = JSON.stringify(marshalled(input));
    const parts = {
      host: to.headers.host,
      path: to.path,
      contentType: 'application/x-amz-json-1.0',
      target: `DynamoDB_20120810.${name}`,
      body,
      time: new Date(Date.now() + config.systemClockOffset),
    };
    const headers = sign(parts, await config.credentials());
    const answer = await send(to, headers, body, milliseconds).catch(() => undefined);
    return answer && readAnswer(answer);
  }

  return async (name, input) => {
    if (!endpoint || name === 'TransactWriteItems') return byClient[name](input);
    const answer = await callOnce(endpoint, name, input);
    if (answer) return answer;
    return byClient[name](input).catch((error: unknown) => {
      throw afterAnotherAttempt(error);
    });
  };
}

type CallersByClient = { [Name in Operation]: (input: Inputs[Name]) => Promise<Output> };

/** Calls the store by the SDK's document client alone. */
export const callerByClient = (client: documents.DynamoDBDocumentClient): CallersByClient => ({
  GetItem: (input) => client.send(new documents.GetCommand(input)),
  BatchGetItem: (input) => client.send(new documents.BatchGetCommand(input)),
  Query: (input) => client.send(new documents.QueryCommand(input)),
  PutItem: (input) => client.send(new documents.PutCommand(input)),
  UpdateItem: (input) => client.send(new documents.UpdateCommand(input)),
  DeleteItem: (input) => client.send(new documents.DeleteCommand(input)),
  TransactWriteItems: async (input) => {
    const { ConsumedCapacity } = await client.send(new documents.TransactWriteCommand(input));
    return { ConsumedCapacity };
  },
});

/** A failed condition may be due to the request before, so its attempts count that one, too. */
function afterAnotherAttempt(error: unknown): unknown {
  if (error instanceof ConditionalCheckFailedException) {
    const { attempts = 1 } = error.$metadata;
    error.$metadata.attempts = attempts + 1;
  }
  return error;
}

const endpointSchema = v.object({
  protocol: v.string(),
  hostname: v.string(),
  port: v.optional(v.number()),
  path: v.string(),
  headers: v.object({ host: v.string() }),
});
type Endpoint = v.InferOutput<typeof endpointSchema>;

/** Items and keys as the store sends and takes them. */
type StoredItem = Record<string, AttributeValue>;

/** An answer of the store: an output, or an error. */
interface Answer {
  status: number;
  body: {
    __type?: string;
    message?: string;
    Item?: StoredItem;
    Items?: StoredItem[];
    Attributes?: StoredItem;
    LastEvaluatedKey?: StoredItem;
    Responses?: Record<string, StoredItem[]>;
    UnprocessedKeys?: Record<string, { Keys?: StoredItem[] }>;
  };
}

const pool = { keepAlive: true, maxSockets: 50 };
const plain = { request: requestHttp, agent: new Agent(pool) };
const secured = { request: requestHttps, agent: new TlsAgent(pool) };

/**
 * Sends a request and reads its answer.
 * @throws Error when there is none in time, or not the whole of it
 */
const send = (
  { protocol, hostname, port, path }: Endpoint,
  headers: Record<string, string>,
  body: string,
  timeout: number,
) =>
  new Promise<Answer>((resolve, reject) => {
    const { request, agent } = protocol === 'https:' ? secured : plain;
    const sent = request({ method: 'POST', hostname, port, path, headers, agent, timeout });
    sent.on('timeout', () => sent.destroy(new Error(`The store gave no sign for ${timeout} ms.`)));
    sent.on('error', reject);
    sent.on('response', (response) => {
      text(response)
        .then((body) => resolve({ status: response.statusCode ?? 0, body: JSON.parse(body) }))
        .catch(reject);
    });
    sent.end(body);
  });

/**
 * The output of a 200; undefined for an error that the document client has to deal with.
 * @throws ConditionalCheckFailedException
 */
function readAnswer({ status, body }: Answer) {
  if (status === 200) return unmarshalled(body);
  const { __type = '', message = '', Item } = body;
  if (!__type.endsWith('#ConditionalCheckFailedException')) return undefined;
  throw new ConditionalCheckFailedException({ message, Item, $metadata: { attempts: 1 } });
}

/** The members of inputs that have attributes. */
interface NativeInput {
  Key?: Item | undefined;
  Item?: Item | undefined;
  ExpressionAttributeValues?: Item | undefined;
  ExclusiveStartKey?: Item | undefined;
  RequestItems?: Record<string, { Keys: Item[] | undefined }> | undefined;
  /** Transactions go by the document client. */
  TransactItems?: unknown;
}

/** An input with its attributes as the store takes them. */
const marshalled = (input: NativeInput) => ({
  ...input,
  Key: input.Key && marshalledItem(input.Key),
  Item: input.Item && marshalledItem(input.Item),
  ExpressionAttributeValues:
    input.ExpressionAttributeValues && marshalledItem(input.ExpressionAttributeValues),
  ExclusiveStartKey: input.ExclusiveStartKey && marshalledItem(input.ExclusiveStartKey),
  RequestItems:
    input.RequestItems &&
    mapped(input.RequestItems, (request) => ({
      ...request,
      Keys: request.Keys?.map(marshalledItem),
    })),
});

const marshalledItem = (item: Item) => marshall(item, { removeUndefinedValues: true });

/** An answer with its attributes as JavaScript's values. */
const unmarshalled = (answer: Answer['body']): Output => ({
  ...answer,
  Item: answer.Item && unmarshall(answer.Item),
  Items: answer.Items?.map((item) => unmarshall(item)),
  Attributes: answer.Attributes && unmarshall(answer.Attributes),
  LastEvaluatedKey: answer.LastEvaluatedKey && unmarshall(answer.LastEvaluatedKey),
  Responses:
    answer.Responses && mapped(answer.Responses, (items) => items.map((item) => unmarshall(item))),
  UnprocessedKeys:
    answer.UnprocessedKeys &&
    mapped(answer.UnprocessedKeys, (rest) => ({
      ...rest,
      Keys: rest.Keys?.map((key) => unmarshall(key)),
    })),
});

/** A map by table, with each value changed. */
const mapped = <Before, After>(map: Record<string, Before>, change: (value: Before) => After) =>
  Object.fromEntries(Object.entries(map).map(([table, value]) => [table, change(value)]));
