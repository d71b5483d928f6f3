import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { ConditionalCheckFailedException, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { readBody, serve } from '../../infra/local/loopback-server.ts';
import { requestSigner, type SignedParts } from '../../lib/foundation/aws-signature.ts';
import {
  type CallStore,
  callerByClient,
  type Output,
  storeCaller,
} from '../../lib/storage/call-store.ts';
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

const read = { TableName: 't', Key: { pk: 'a', none: undefined } };

/** Calls the store, after a first call, which goes the SDK's way. */
async function newCaller({
  url = store.url,
  milliseconds = 1_000,
  own = true,
  credentials = async (): Promise<Credentials> => ({
    accessKeyId: 'id',
    secretAccessKey: 'secret',
  }),
} = {}) {
  const client = new DynamoDBClient({
    region: 'eu-central-1',
    endpoint: url,
    credentials,
    maxAttempts: 2,
  });
  const documents = DynamoDBDocumentClient.from(client, {
    marshallOptions: { removeUndefinedValues: true },
  });
  const byClient = callerByClient(documents);
  const callByClient: CallStore = (name, input) => byClient[name](input);
  const call = own ? storeCaller(documents, milliseconds) : callByClient;
  const readItem = () => call('GetItem', read);
  await readItem();
  asked = [];
  return { call, readItem };
}

const idsOf = (name: string) => asked.map(({ headers }) => headers[name]);

describe('a call', () => {
  test('is what the SDK sends, and its answer what the SDK reads', async () => {
    const [lean, whole] = [await newCaller(), await newCaller({ own: false })];
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
    const calls: ((call: CallStore) => Promise<Output>)[] = [
      (call) => call('GetItem', read),
      (call) => call('PutItem', { TableName: 't', Item }),
      (call) => call('Query', { TableName: 't', ...query }),
      (call) => call('BatchGetItem', { RequestItems: { t: { Keys, ConsistentRead: true } } }),
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
      const own = await call(lean.call);
      const ofSdk = await call(whole.call);
      expect({ ...own, $metadata: expect.anything() }).toEqual(ofSdk);
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
    const { readItem } = await newCaller({ milliseconds: 200 });
    answers = [answer];
    expect((await readItem()).Item).toEqual(found);
    expect(asked.map(({ body }) => body)).toEqual(
      Array(2).fill({ TableName: 't', Key: { pk: { S: 'a' } } }),
    );
  });

  test('that fails each time is sent once, and then as often as the client is told', async () => {
    const { readItem } = await newCaller();
    answers = Array(4).fill(lost);
    await expect(readItem()).rejects.toThrow();
    expect(asked).toHaveLength(3);
  });

  test('whose condition fails is not sent again, and its error tells what was found', async () => {
    const { call, readItem } = await newCaller();
    const put = () =>
      call('PutItem', { TableName: 't', Item: { pk: 'a' } }).catch((error) => error);
    const refused = exception('ConditionalCheckFailedException', {}, { Item: item });
    answers = [refused];
    const error = await put();
    expect(error).toBeInstanceOf(ConditionalCheckFailedException);
    expect(error).toMatchObject({ message: 'So it is.', Item: item, $metadata: { attempts: 1 } });
    expect(asked).toHaveLength(1);
    answers = [lost, refused];
    expect(await put()).toMatchObject({ Item: item, $metadata: { attempts: 2 } });
    answers = Array(2).fill(exception('ValidationException'));
    await expect(readItem()).rejects.toMatchObject({ name: 'ValidationException' });
  });

  test('of a machine whose clock is ten minutes behind is sent again by the store’s clock, as are all after it', async () => {
    const { readItem } = await newCaller();
    const date = new Date(Date.now() + 600_000).toUTCString();
    const minutesAhead = () =>
      idsOf('x-amz-date').map((text = '') => {
        const time = text.replace(/(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/, '$1-$2-$3T$4:$5:$6Z');
        return Math.abs(Math.round((Date.parse(time) - Date.now()) / 60_000));
      });
    const good = (response: ServerResponse) => json(response, 200, { Item: item }, { date });
    answers = [...Array(2).fill(exception('InvalidSignatureException', { date })), good, good];
    expect((await readItem()).Item).toEqual(found);
    await readItem();
    expect(minutesAhead()).toEqual([0, 0, 10, 10]);
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
    const { readItem } = await newCaller({ credentials });
    await readItem();
    await readItem();
    const last = asked.at(-1)?.headers;
    expect(last?.['x-amz-security-token']).toBe(`session-${made}`);
    expect(last?.authorization).toContain(`Credential=id-${made}/`);
    expect(made).toBeGreaterThan(1);
    answers = Array(2).fill(exception('ExpiredTokenException'));
    await expect(readItem()).rejects.toMatchObject({ name: 'ExpiredTokenException' });
  });

  test('uses the connection of the one before it', async () => {
    const counting = await serve(listener);
    const { readItem } = await newCaller({ url: counting.url });
    const ports = new Set<string | undefined>();
    answers = Array(3).fill((response: ServerResponse) => {
      ports.add(String(response.req.socket.remotePort));
      json(response, 200, {});
    });
    for (let time = 0; time < 3; time += 1) await readItem();
    expect(ports.size).toBe(1);
    await counting.close();
  });
});

test('TLS is checked: a store that nobody vouches for gets no request', async () => {
  const server = createServer({ key: selfSigned, cert: selfSigned }, listener).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  const address = server.address();
  const url = `https://127.0.0.1:${typeof address === 'object' && address?.port}`;
  const { readItem } = await newCaller();
  const trusted = getCACertificates('default');
  // The endpoint that the first call taught is of the other server; a new client learns its own.
  await expect(newCaller({ url })).rejects.toThrow('self-signed certificate');
  expect(asked).toEqual([]);
  try {
    setDefaultCACertificates([...trusted, selfSigned]);
    expect((await (await newCaller({ url })).readItem()).Item).toEqual(found);
    expect(asked).toHaveLength(1);
  } finally {
    setDefaultCACertificates(trusted);
    server.close();
    server.closeAllConnections();
  }
  await readItem();
});

describe('the signature is that of @smithy/signature-v4', () => {
  const region = 'eu-central-1';
  const target = 'DynamoDB_20120810.GetItem';
  const store = { host: 'dynamodb.eu-central-1.amazonaws.com', path: '/', target };
  const hook = {
    host: 'lambda.eu-central-1.amazonaws.com',
    path: `/2015-03-31/functions/${encodeURIComponent('arn:aws:lambda:eu-central-1:123456789012:function:a-b:live')}/invocations`,
  };
  const dryRun = { ...hook, invocationType: 'DryRun' as const };
  const services: [
    string,
    typeof hook & Pick<SignedParts, 'target' | 'invocationType'>,
    ReturnType<typeof requestSigner>,
  ][] = [
    ['dynamodb', store, requestSigner(region, 'dynamodb')],
    ['lambda', hook, requestSigner(region, 'lambda')],
    ['lambda', dryRun, requestSigner(region, 'lambda')],
  ];
  const bare: Credentials = { accessKeyId: 'id', secretAccessKey: 'secret' };
  const whole: Credentials = { ...bare, sessionToken: 'a+session/token==' };
  const at = (time: string) => new Date(time);

  test.each<[string, Credentials, Date, string]>([
    ['with a session token', whole, at('2026-03-01T23:59:59.999Z'), '{"Key":"ä€"}'],
    ['without one', bare, at('2026-03-01T23:59:59Z'), '{}'],
    ['on the next day', bare, at('2026-03-02T00:00:00Z'), '{}'],
    [
      'after a change of them',
      { ...whole, secretAccessKey: 'another' },
      at('2026-03-02T00:00:01Z'),
      '{}',
    ],
    ['and back', whole, at('2026-03-02T00:00:02Z'), '{}'],
  ])('%s', async (_, credentials, time, body) => {
    for (const [service, address, sign] of services) {
      const parts = { ...address, contentType: 'application/x-amz-json-1.0', body };
      const {
        authorization,
        'content-length': length,
        ...headers
      } = sign({ ...parts, time }, credentials);
      const client = new DynamoDBClient({ region, credentials });
      const scheme = { name: 'sigv4', signingName: service, signingRegion: region, properties: {} };
      const signer = await client.config.signer(scheme);
      const to = {
        method: 'POST',
        protocol: 'https:',
        hostname: parts.host,
        path: parts.path,
        query: {},
      };
      const request = { ...to, headers, body };
      const signed = await signer.sign(request as never, { signingDate: time });
      expect({ ...headers, authorization }).toEqual(signed.headers);
      expect(length).toBe(String(Buffer.byteLength(body)));
    }
  });
});
