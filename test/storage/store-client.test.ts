import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { ConditionalCheckFailedException, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  BatchGetCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
} from '@aws-sdk/lib-dynamodb';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { readBody, serve } from '../../infra/local/loopback-server.ts';
import { makeFirstAttempts } from '../../lib/storage/first-attempt.ts';
import { requestSigner } from '../../lib/storage/signature.ts';
import { selfSigned } from '../support/provider-stand-in.ts';

interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
  expiration?: Date;
}
type Headers = Record<string, string | undefined>;

/** What the store answers to its calls, one after the other; an item when none is left. */
let answers: ((response: ServerResponse) => void)[] = [];
let asked: { headers: Headers; body: Record<string, unknown> }[] = [];

const json = (response: ServerResponse, status: number, body: unknown, headers: object = {}) =>
  response
    .writeHead(status, { 'content-type': 'application/x-amz-json-1.0', ...headers })
    .end(JSON.stringify(body));
const item = {
  pk: { S: 'a' },
  at: { N: '7' },
  names: { SS: ['b'] },
  list: { L: [{ BOOL: true }, { NULL: true }] },
};
const found = { pk: 'a', at: 7, names: new Set(['b']), list: [true, null] };
const exception = (name: string, headers?: object, more?: object) => (response: ServerResponse) => {
  const __type = `com.amazonaws.dynamodb.v20120810#${name}`;
  json(response, 400, { __type, message: 'So it is.', ...more }, headers);
};
const lost = (response: ServerResponse) => response.destroy();

const listener: RequestListener = async (request, response) => {
  const body = JSON.parse((await readBody(request)).toString());
  asked.push({ headers: request.headers as Headers, body });
  const answer = answers.shift();
  if (answer) answer(response);
  else json(response, 200, { Item: item });
};

const store = await serve(listener);
afterAll(() => store.close());
afterEach(() => {
  answers = [];
});

const command = () => new GetCommand({ TableName: 't', Key: { pk: 'a', none: undefined } });

/** A client that has made its first call, which goes the SDK's way. */
async function newClient({
  url = store.url,
  milliseconds = 1_000,
  own = true,
  credentials = async (): Promise<Credentials> => ({ accessKeyId: 'id', secretAccessKey: 'secret' }),
} = {}) {
  const client = new DynamoDBClient({ region: 'eu-central-1', endpoint: url, credentials, maxAttempts: 3 });
  const documents = DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });
  if (own) makeFirstAttempts(documents, milliseconds);
  await documents.send(command());
  asked = [];
  return documents;
}

const idsOf = (name: string) => asked.map(({ headers }) => headers[name]);

describe('a call', () => {
  test('is what the SDK sends, and its answer what the SDK reads', async () => {
    const [lean, whole] = [await newClient(), await newClient({ own: false })];
    const Item = { ...found, none: undefined, deep: { a: [1, 'b'], c: undefined } };
    const query = {
      KeyConditionExpression: '#pk = :pk',
      ExpressionAttributeNames: { '#pk': 'pk' },
      ExpressionAttributeValues: { ':pk': 'a', ':set': new Set([1, 2]) },
      ExclusiveStartKey: { pk: 'a' },
      ScanIndexForward: false,
      Limit: 3,
    };
    const Keys = [{ pk: 'a' }, { pk: 'b' }];
    const calls: ((client: DynamoDBDocumentClient) => Promise<{ $metadata: unknown }>)[] = [
      (client) => client.send(command()),
      (client) => client.send(new PutCommand({ TableName: 't', Item })),
      (client) => client.send(new QueryCommand({ TableName: 't', ...query })),
      (client) => client.send(new BatchGetCommand({ RequestItems: { t: { Keys, ConsistentRead: true } } })),
    ];
    const bodies = [
      { Item: item },
      { Attributes: item, ConsumedCapacity: { TableName: 't', CapacityUnits: 1 } },
      { Items: [item, item], Count: 2, LastEvaluatedKey: { pk: { S: 'a' } } },
      {
        Responses: { t: [item] },
        UnprocessedKeys: { t: { Keys: [{ pk: { S: 'b' } }], ConsistentRead: true } },
        ConsumedCapacity: [{ TableName: 't', CapacityUnits: 1 }],
      },
    ];
    for (const [at, call] of calls.entries()) {
      asked = [];
      answers = [lean, whole].map(() => (response) => json(response, 200, bodies[at]));
      const outputs = [await call(lean), await call(whole)].map(({ $metadata: _, ...output }) => output);
      expect(outputs[0]).toEqual(outputs[1]);
      expect(asked[0]?.body).toEqual(asked[1]?.body);
      expect(idsOf('x-amz-target')[0]).toBe(idsOf('x-amz-target')[1]);
      // The SDK sends its user agent, and the lean call doesn't.
      expect(idsOf('amz-sdk-invocation-id')).toEqual([undefined, expect.any(String)]);
    }
  });

  test.each([
    ['throttled', exception('ThrottlingException')],
    ['refused by a server that fails', (response: ServerResponse) => json(response, 500, {})],
    ['reset', lost],
    ['stalled', () => {}],
    [
      'cut in half',
      (response: ServerResponse) => {
        response.writeHead(200, { 'content-length': '100' }).write('{"Item":');
        setTimeout(() => response.destroy(), 20);
      },
    ],
    [
      'stalled in the middle',
      (response: ServerResponse) =>
        void response.writeHead(200, { 'content-length': '100' }).write('{"Item":'),
    ],
  ])('whose answer is %s is sent again, and the second counts', async (_, answer) => {
    const client = await newClient({ milliseconds: 200 });
    answers = [answer];
    const { Item, $metadata } = await client.send(command());
    expect(Item).toEqual(found);
    expect($metadata.attempts).toBe(2);
    expect(asked.map(({ body }) => body)).toEqual(Array(2).fill({ TableName: 't', Key: { pk: { S: 'a' } } }));
  });

  test('that fails each time is sent as often as the client is told, and no more', async () => {
    const client = await newClient();
    answers = Array(3).fill(lost);
    await expect(client.send(command())).rejects.toMatchObject({ $metadata: { attempts: 3 } });
    expect(asked).toHaveLength(3);
  });

  test('that is wrong is not sent again, and its error is read', async () => {
    const client = await newClient();
    answers = [
      exception('ConditionalCheckFailedException', {}, { Item: item }),
      exception('ValidationException'),
    ];
    const put = new PutCommand({ TableName: 't', Item: { pk: 'a' } });
    const error = await client.send(put).catch((error) => error);
    expect(error).toBeInstanceOf(ConditionalCheckFailedException);
    expect(error).toMatchObject({ message: 'So it is.', $metadata: { attempts: 1, httpStatusCode: 400 } });
    await expect(client.send(command())).rejects.toMatchObject({ name: 'ValidationException' });
    expect(asked).toHaveLength(2);
  });

  test('refills with its success the quota of repetitions, which wrong calls after lost answers use up', async () => {
    const client = await newClient();
    const failTwice = async (times: number) => {
      for (let time = 0; time < times; time += 1) {
        answers = [lost, exception('ValidationException')];
        await expect(client.send(command())).rejects.toMatchObject({ $metadata: { attempts: 2 } });
      }
    };
    // Each takes 14 of 500.
    await failTwice(33);
    for (let time = 0; time < 28; time += 1) await client.send(command());
    await failTwice(2);
  });

  test('of a machine whose clock is ten minutes behind is sent again by the store’s clock, as are all after it', async () => {
    const client = await newClient();
    const date = new Date(Date.now() + 600_000).toUTCString();
    const minutesAhead = () =>
      idsOf('x-amz-date').map((text = '') => {
        const time = text.replace(/(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/, '$1-$2-$3T$4:$5:$6Z');
        return Math.abs(Math.round((Date.parse(time) - Date.now()) / 60_000));
      });
    const good = (response: ServerResponse) => json(response, 200, { Item: item }, { date });
    answers = [exception('InvalidSignatureException', { date }), good, good];
    expect((await client.send(command())).Item).toEqual(found);
    await client.send(command());
    expect(minutesAhead()).toEqual([0, 10, 10]);
  });

  test('is signed with credentials that are still good', async () => {
    let made = 0;
    const credentials = async (): Promise<Credentials> => {
      made += 1;
      // Credentials are renewed five minutes before they expire.
      return {
        accessKeyId: `id-${made}`,
        secretAccessKey: `secret-${made}`,
        sessionToken: `session-${made}`,
        expiration: new Date(Date.now() + (made === 1 ? 3_000 : 3_600_000)),
      };
    };
    const client = await newClient({ credentials });
    await client.send(command());
    await client.send(command());
    const last = asked.at(-1)?.headers;
    expect(last?.['x-amz-security-token']).toBe(`session-${made}`);
    expect(last?.authorization).toContain(`Credential=id-${made}/`);
    expect(made).toBeGreaterThan(1);
    answers = [exception('ExpiredTokenException')];
    await expect(client.send(command())).rejects.toMatchObject({ name: 'ExpiredTokenException' });
  });

  test('uses the connection of the one before it', async () => {
    const counting = await serve(listener);
    const client = await newClient({ url: counting.url });
    const ports = new Set<string | undefined>();
    answers = Array(3).fill((response: ServerResponse) => {
      ports.add(String(response.req.socket.remotePort));
      json(response, 200, {});
    });
    for (let time = 0; time < 3; time += 1) await client.send(command());
    expect(ports.size).toBe(1);
    await counting.close();
  });
});

test('TLS is checked: a store that nobody vouches for gets no request', async () => {
  const server = createServer({ key: selfSigned, cert: selfSigned }, listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const url = `https://127.0.0.1:${typeof address === 'object' && address?.port}`;
  const client = await newClient();
  const trusted = getCACertificates('default');
  // The endpoint that the first call taught is of the other server; a new client learns its own.
  await expect(newClient({ url })).rejects.toThrow('self-signed certificate');
  expect(asked).toEqual([]);
  try {
    setDefaultCACertificates([...trusted, selfSigned]);
    expect((await (await newClient({ url })).send(command())).Item).toEqual(found);
    expect(asked).toHaveLength(1);
  } finally {
    setDefaultCACertificates(trusted);
    server.close();
    server.closeAllConnections();
  }
  await client.send(command());
});

describe('the signature is that of @smithy/signature-v4', () => {
  const region = 'eu-central-1';
  const target = 'DynamoDB_20120810.GetItem';
  const store = { host: 'dynamodb.eu-central-1.amazonaws.com', path: '/', target };
  const hook = {
    host: 'lambda.eu-central-1.amazonaws.com',
    path: `/2015-03-31/functions/${encodeURIComponent('arn:aws:lambda:eu-central-1:123456789012:function:a-b:live')}/invocations`,
  };
  const services: [string, typeof hook & { target?: string }, ReturnType<typeof requestSigner>][] = [
    ['dynamodb', store, requestSigner(region, 'dynamodb')],
    ['lambda', hook, requestSigner(region, 'lambda')],
  ];
  const bare: Credentials = { accessKeyId: 'id', secretAccessKey: 'secret' };
  const whole: Credentials = { ...bare, sessionToken: 'a+session/token==' };
  const at = (time: string) => new Date(time);

  test.each<[string, Credentials, Date, string]>([
    ['with a session token', whole, at('2026-03-01T23:59:59.999Z'), '{"Key":"ä€"}'],
    ['without one', bare, at('2026-03-01T23:59:59Z'), '{}'],
    ['on the next day', bare, at('2026-03-02T00:00:00Z'), '{}'],
    ['after a change of them', { ...whole, secretAccessKey: 'another' }, at('2026-03-02T00:00:01Z'), '{}'],
    ['and back', whole, at('2026-03-02T00:00:02Z'), '{}'],
  ])('%s', async (_, credentials, time, body) => {
    for (const [service, address, sign] of services) {
      const parts = { ...address, contentType: 'application/x-amz-json-1.0', body };
      const { authorization, 'content-length': length, ...headers } = sign({ ...parts, time }, credentials);
      const client = new DynamoDBClient({ region, credentials });
      const scheme = { name: 'sigv4', signingName: service, signingRegion: region, properties: {} };
      const signer = await client.config.signer(scheme);
      const to = { method: 'POST', protocol: 'https:', hostname: parts.host, path: parts.path, query: {} };
      const request = { ...to, headers, body };
      const signed = await signer.sign(request as never, { signingDate: time });
      expect({ ...headers, authorization }).toEqual(signed.headers);
      expect(length).toBe(String(Buffer.byteLength(body)));
    }
  });
});
