import { request as requestTo } from 'node:http';
import { DeleteCommand, PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import * as v from 'valibot';
import { readFunctions } from '../../infra/endpoints.ts';
import { type InvocableFunction, startLocalAws } from '../../infra/local/aws.ts';
import type { Route } from '../../infra/local/gateway.ts';
import {
  loadOtherFunctions,
  loadRoutes,
  setEnvironment,
} from '../../infra/local/load-functions.ts';
import { readBody, serve } from '../../infra/local/loopback-server.ts';
import { rotateSigningKeys } from '../../infra/local/stack.ts';
import { clock } from '../../lib/foundation/clock.ts';
import { store } from '../../lib/storage/client.ts';
import { startOwnTable } from '../support/own-table.ts';

const { endpoints } = readFunctions();
const table = await startOwnTable();
const functions = new Map<string, InvocableFunction>();
const aws = await startLocalAws(functions);
/** What CloudFormation was told. */
const told: unknown[] = [];
let stackStatus: string;
/** Says in which state the stack is, and takes what custom resources answer. */
const cloudFormation = await serve(async (request, response) => {
  const body = (await readBody(request)).toString();
  if (request.method === 'PUT') told.push(JSON.parse(body));
  const answer = `<DescribeStacksResponse><DescribeStacksResult><Stacks><member>
    <StackStatus>${stackStatus}</StackStatus></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`;
  response.end(answer);
});
let mayInvoke: boolean;
/** Lets the check invoke functions while it may. */
const lambda = await serve((request, response) => {
  if (!mayInvoke) {
    const denied = { 'x-amzn-errortype': 'AccessDeniedException' };
    response.writeHead(403, denied).end('{"message":"You are not authorized."}');
    return;
  }
  const { method = '', headers, url = '' } = request;
  const forwarded = requestTo(`${aws.url}${url}`, { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(response);
  });
  request.pipe(forwarded);
});
afterAll(() => Promise.all([aws, cloudFormation, lambda].map((server) => server.close())));

aws.secrets.create('signing-keys', 'to be replaced by the first rotation');
for (const id of ['refresh-tokens', 'provider-settings']) aws.secrets.create(id, 'a secret');
setEnvironment(
  {
    base_url: 'https://login.example.com',
    dynamodb_endpoint: table.url,
    table_name: table.tableName,
  },
  aws.endpoint,
);
Object.assign(process.env, {
  AWS_ENDPOINT_URL_LAMBDA: lambda.url,
  AWS_ENDPOINT_URL_CLOUDFORMATION: cloudFormation.url,
});
await loadOtherFunctions(functions);
const { checkNewVersions } = await import('../../lib/release/check-new-versions.ts');
await rotateSigningKeys(aws.endpoint);
const routes: Route[] = [];
await loadRoutes(routes);

let log: string;
const write = jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
  log += String(text);
  return true;
});
afterAll(() => write.mockRestore());

/** The handler of an endpoint, as a function that is invoked. */
function handlerOf(key: string): InvocableFunction {
  const endpoint = endpoints.get(key);
  const route = routes.find((one) => one.endpoint.route === endpoint?.route);
  if (!route) throw new Error(`There is no ${key}.`);
  return (event) => Reflect.apply(route.handler, undefined, [event, {}]);
}

/** The new versions are those of this code. */
beforeEach(() => {
  told.length = 0;
  log = '';
  stackStatus = 'UPDATE_IN_PROGRESS';
  mayInvoke = true;
  for (const key of endpoints.keys()) functions.set(key, handlerOf(key));
});

const ids = { StackId: 'a-stack', RequestId: 'a-request', LogicalResourceId: 'Trial' };
/** Does what CloudFormation does before a version gets requests. */
const check = (RequestType = 'Update') =>
  checkNewVersions(
    {
      ...ids,
      RequestType,
      ResponseURL: cloudFormation.url,
      ResourceProperties: {
        Versions: Object.fromEntries([...endpoints.keys()].map((key) => [key, key])),
      },
    },
    () => 150_000,
  );

/** Why new versions were refused. */
const reasons = (): string[] =>
  log
    .split('\n')
    .filter((line) => line.includes('new_versions_failed'))
    .map((line) => JSON.parse(line).failure.message);

/** @throws Error with the reason when new versions were refused */
function requireSuccess(): void {
  const advice = 'If that is right, set trialStatus in the record: see docs/CONTRIBUTING.md.';
  if (reasons().length > 0) throw new Error([...reasons(), advice].join('\n'));
}

const working = [{ ...ids, PhysicalResourceId: 'Trial', Status: 'SUCCESS' }];
const broken = (reason: string | RegExp = /./) => [
  { ...working[0], Status: 'FAILED', Reason: expect.stringMatching(reason) },
];

const itemsLeft = async () =>
  (await table.dynamoDb.send(new ScanCommand({ TableName: table.tableName }))).Items ?? [];
const removeItems = (items: Record<string, unknown>[]) =>
  Promise.all(
    items.map(({ pk, sk }) =>
      table.dynamoDb.send(new DeleteCommand({ TableName: table.tableName, Key: { pk, sk } })),
    ),
  );
/** The partitions that are left: with nothing of the check, only the public signing keys. */
const partitionsLeft = async (): Promise<unknown[]> => (await itemsLeft()).map(({ pk }) => pk);
const leftOfTheCheck = async () => (await itemsLeft()).filter(({ pk }) => pk !== 'SIGNING_KEYS');

test('versions that answer as documented may get requests; nobody else is called, and nothing of the check is left', async () => {
  const asked = new Map<string, number[]>();
  for (const [key, version] of functions) {
    if (!endpoints.has(key)) continue;
    functions.set(key, async (event, context) => {
      const answer = await version(event, context);
      const { statusCode } = v.parse(v.looseObject({ statusCode: v.number() }), answer);
      asked.set(key, [...(asked.get(key) ?? []), statusCode]);
      return answer;
    });
  }
  const outside = jest.spyOn(globalThis, 'fetch');
  await check();
  requireSuccess();
  expect(outside.mock.calls.map(([address]) => address)).toEqual([cloudFormation.url]);
  outside.mockRestore();
  expect([...asked.keys()].sort()).toEqual([...endpoints.keys()]);
  // A token of the app, a login, and the example, whose client nobody knows.
  expect(asked.get('issue-token')).toEqual([200, 200, 401]);
  expect(asked.get('show-login-user')).toEqual([200]);
  expect(asked.get('add-comment')).toEqual([401]);
  expect(asked.get('delete-login-user')).toEqual([401, 204]);
  expect(told).toEqual(working);
  expect(await partitionsLeft()).toEqual(['SIGNING_KEYS']);
});

test('they are also tried where requests must come through CloudFront', async () => {
  process.env.ORIGIN_SECRET_HASHES = '0'.repeat(64);
  await check();
  delete process.env.ORIGIN_SECRET_HASHES;
  requireSuccess();
  expect(told).toEqual(working);
});

describe('with a login hook', () => {
  const name = 'login-hook:live';
  beforeEach(() => {
    process.env.LOGIN_HOOK = name;
  });
  afterEach(() => {
    delete process.env.LOGIN_HOOK;
    functions.delete(name);
  });

  test('one that may invoke it gets requests; the hook does not run', async () => {
    const ran = jest.fn(async () => ({ deny: true }));
    functions.set(name, ran);
    await check();
    requireSuccess();
    expect(told).toEqual(working);
    expect(ran).not.toHaveBeenCalled();
  });

  test('one that may not gets none, and the reason names the hook and the answer of Lambda', async () => {
    await check();
    expect(told).toEqual(broken());
    expect(reasons()).toEqual([
      'The new version for POST /v2/marketing/oauth/token answers 503, not 200. It says temporarily_unavailable: This version may not invoke the login hook login-hook:live: Lambda answers with 404 ResourceNotFoundException.',
    ]);
    expect(await partitionsLeft()).toEqual(['SIGNING_KEYS']);
  });
});

const answering = (statusCode: number, body: unknown) => async () => ({
  statusCode,
  body: JSON.stringify(body),
});

/** The version as it is, but for requests with a text. */
const unless =
  (text: string, broken: InvocableFunction): InvocableFunction =>
  (event, context) =>
    (JSON.stringify(event).includes(text) ? broken : handlerOf('issue-token'))(event, context);

test.each<[string, string, InvocableFunction]>([
  ['does not run', 'issue-token', () => Promise.reject(new Error('Cannot find module'))],
  ['rejects the client', 'issue-token', answering(401, { error: 'invalid_client' })],
  ['issues what is no token', 'issue-token', answering(200, { access_token: 'a.b.c' })],
  ['publishes no keys', 'list-signing-keys', answering(200, { keys: [] })],
  ['answers a search with an error', 'search-events', answering(500, {})],
  ['finds what nobody wrote', 'search-events', answering(200, { total: 1, results: [{ id: 1 }] })],
  ['lets nobody log in', 'issue-token', unless('provider_credentials', answering(500, {}))],
  ['does not know who has logged in', 'show-login-user', answering(401, {})],
  ['is of a quiet route and fails', 'register-device', answering(500, {})],
  ['cannot delete a person', 'delete-login-user', answering(500, {})],
])('one that %s gets none, and nothing of the check is left', async (_, name, version) => {
  functions.set(name, version);
  await check();
  expect(told).toEqual(broken());
  expect(log).toContain('new_versions_failed');
  expect(log + JSON.stringify(told)).not.toMatch(/(lcs|acs)_|eyJ[\w-]+\.eyJ/);
  expect(await partitionsLeft()).toEqual(['SIGNING_KEYS']);
});

test('the reason names the route, both statuses, and what the answer says about itself', async () => {
  const error_description = 'The Login App has no such device.';
  functions.set('list-devices', answering(404, { error: 'not_found', error_description }));
  await check();
  const reason = `The new version for GET /v2/marketing/login/user/push_notifications/devices answers 404, not 200. It says not_found: ${error_description}`;
  expect(reasons()).toEqual([reason]);
  expect(told).toMatchObject([{ Reason: `${reason} Read the log of check-new-versions.` }]);
});

test('the reason says nothing of an answer that is no JSON, which may hold a token', async () => {
  functions.set('list-devices', async () => ({ statusCode: 200, body: 'lus_secret' }));
  await check();
  expect(told).toMatchObject([
    { Reason: 'The new versions could not be tried. Read the log of check-new-versions.' },
  ]);
});

test.each(['CREATE_IN_PROGRESS', 'UPDATE_ROLLBACK_IN_PROGRESS'])(
  'they are not tried in the state %s, which they must not keep from its end',
  async (status) => {
    stackStatus = status;
    functions.set('issue-token', answering(500, {}));
    await check('Create');
    expect(told).toEqual(working);
    expect(log).not.toContain('new_versions');
  },
);

test('a permission that is missing yet makes Lambda call again, and CloudFormation wait', async () => {
  mayInvoke = false;
  await expect(check()).rejects.toThrow('not authorized');
  expect(told).toEqual([]);
  expect(await partitionsLeft()).toEqual(['SIGNING_KEYS']);
});

describe('when the time is nearly up', () => {
  const timers = new Map<number, AbortController>();
  const timeout = jest.spyOn(AbortSignal, 'timeout');
  beforeEach(() => {
    timeout.mockImplementation((milliseconds) => {
      const timer = new AbortController();
      timers.set(milliseconds, timer);
      return timer.signal;
    });
  });
  afterEach(() => {
    timeout.mockReset();
  });
  afterAll(() => timeout.mockRestore());
  const noFurtherRequest = () => timers.get(120_000)?.abort();
  const end = () => timers.get(140_000)?.abort();

  test('one that gives no answer gets none: CloudFormation is told before it is', async () => {
    const { promise: never, resolve } = Promise.withResolvers<void>();
    functions.set('show-login-user', async () => {
      noFurtherRequest();
      end();
      await never;
    });
    await check();
    expect(told).toEqual(broken());
    expect(log).toContain('new_versions_failed');
    const left = await leftOfTheCheck();
    expect(left).toEqual([expect.objectContaining({ blocked_at: expect.any(String) })]);
    await removeItems(left);
    resolve();
  });

  test('a login under way is waited for, and what it wrote is removed with the rest', async () => {
    const { promise: isTimeUp, resolve: timeIsUp } = Promise.withResolvers<void>();
    const answers: unknown[] = [];
    functions.set(
      'issue-token',
      unless('provider_credentials', async (event, context) => {
        noFurtherRequest();
        setImmediate(timeIsUp);
        await isTimeUp;
        const answer = await handlerOf('issue-token')(event, context);
        answers.push([answer, [...told]]);
        return answer;
      }),
    );
    await check();
    expect(answers).toEqual([[expect.objectContaining({ statusCode: 200 }), []]]);
    expect(told).toEqual(broken());
    expect(log).toContain('The time for the check is up.');
    expect(await partitionsLeft()).toEqual(['SIGNING_KEYS']);
  });

  test('the store refuses one that writes after the removal; what keeps it out expires', async () => {
    const { promise: isRemoved, resolve: removed } = Promise.withResolvers<void>();
    const { promise: late, resolve: answered } = Promise.withResolvers<unknown>();
    const { call } = store;
    const calling = jest.spyOn(store, 'call').mockImplementation(async (operation, input) => {
      const isUpdate = operation === 'UpdateItem' && 'Key' in input;
      if (isUpdate && String(input.Key?.pk).startsWith('LOGIN_USER#')) {
        end();
        await isRemoved;
      }
      return call(operation, input);
    });
    functions.set(
      'issue-token',
      unless('provider_credentials', async (event, context) => {
        const answer = await handlerOf('issue-token')(event, context);
        answered(answer);
        return answer;
      }),
    );
    await check();
    removed();
    expect(await late).toMatchObject({ statusCode: 400 });
    calling.mockRestore();
    expect(told).toEqual(broken());
    const left = await leftOfTheCheck();
    expect(left).toEqual([
      expect.objectContaining({
        pk: expect.stringMatching(/^LOGIN_USER#lu_probe-/),
        sk: 'LOGIN_USER',
      }),
    ]);
    expect(left[0]?.expires_at - Date.now() / 1000).toBeLessThanOrEqual(600);
    await removeItems(left);
  });
});

describe('the format of the table', () => {
  const key = { pk: 'TABLE', sk: 'FORMAT' };
  const TableName = table.tableName;
  const putFormat = (format: unknown) =>
    table.dynamoDb.send(
      new PutCommand({ TableName, Item: { ...key, format, updated_at: 'before' } }),
    );
  const formatNow = async () => (await itemsLeft()).find(({ pk }) => pk === key.pk)?.format;
  afterEach(() => table.dynamoDb.send(new DeleteCommand({ TableName, Key: key })));

  /** Does what CloudFormation does in a step of a deployment, and returns what it hears. */
  async function step(
    Step: 'check' | 'record',
    { RequestType = 'Update', Format = '1' } = {},
  ): Promise<unknown> {
    const event = {
      RequestType,
      ResponseURL: cloudFormation.url,
      StackId: 'a-stack',
      RequestId: 'a-request',
      LogicalResourceId: 'TableFormat',
      ResourceProperties: { Step, Format },
    };
    await functions.get('guard-table-format')?.(event, { awsRequestId: 'r-1' });
    return told.at(-1);
  }

  const Reason =
    'The table has format 2, and this version reads format 1. Use the version that wrote it, or a newer one.';

  test('that is newer keeps the new versions from requests, and the deployment from any change', async () => {
    await putFormat(2);
    await check();
    expect(told).toEqual(broken());
    expect(log).toContain(Reason);
    expect(await partitionsLeft()).toEqual(expect.arrayContaining(['SIGNING_KEYS', 'TABLE']));
    expect(await itemsLeft()).toHaveLength(2);
    expect(await step('check')).toMatchObject({ Status: 'FAILED', Reason });
    expect(await step('check', { RequestType: 'Delete' })).toMatchObject({ Status: 'SUCCESS' });
  });

  test('that is newer does not keep CloudFormation from going back to the code that can read it', async () => {
    await putFormat(2);
    // The rollback may reach the step before the code that answers it.
    expect(await step('check', { Format: '1,2' })).toMatchObject({ Status: 'SUCCESS' });
  });

  test('that is not noted is the first; a deployment notes its own when it is live', async () => {
    expect(await step('check', { RequestType: 'Create' })).toMatchObject({ Status: 'SUCCESS' });
    expect(await formatNow()).toBeUndefined();
    expect(await step('record', { RequestType: 'Create' })).toMatchObject({ Status: 'SUCCESS' });
    expect(await formatNow()).toBe(1);
    expect(await step('check')).toMatchObject({ Status: 'SUCCESS' });
    await check();
    requireSuccess();
    expect(told.at(-1)).toEqual(working[0]);
  });

  test('never falls, and one that makes no sense is an error', async () => {
    await putFormat(2);
    expect(await step('record')).toMatchObject({ Status: 'SUCCESS' });
    expect(await formatNow()).toBe(2);
    await putFormat('one');
    await expect(step('check')).rejects.toThrow();
  });
});

test('what a killed check left is removed by the next one, unless it may be in use', async () => {
  const { promise: killed, resolve: kill } = Promise.withResolvers<void>();
  const { promise: end, resolve: endIt } = Promise.withResolvers<void>();
  functions.set('add-comment', async () => {
    kill();
    await end;
    return { statusCode: 500 };
  });
  const first = check();
  try {
    await killed;
    functions.set('add-comment', handlerOf('add-comment'));
    const left = await leftOfTheCheck();
    const kinds = left.map(({ pk }) => String(pk).replace(/(?<=probe)\W.*|#\d+$/, ''));
    const probes =
      'ACCESS_REQUEST ACCOUNT#ac_probe ISSUER#probe LOGIN_APP#la_probe LOGIN_USER#lu_probe';
    expect([...new Set(kinds)].sort().join(' ')).toBe(probes);
    // The table removes the rest, too; the access leads to the person for longer.
    const ends = left.filter(({ pk }) => /^(ACCOUNT|ISSUER|LOGIN_APP)#/.test(pk));
    for (const { expires_at } of ends)
      expect(expires_at - Date.now() / 1000).toBeLessThanOrEqual(600);

    await check();
    expect(await itemsLeft()).toHaveLength(left.length + 1);
    const { now } = clock;
    clock.now = () => new Date(Date.now() + 601_000);
    await check();
    clock.now = now;
    requireSuccess();
    expect(told).toEqual([...working, ...working]);
    expect(await partitionsLeft()).toEqual(['SIGNING_KEYS']);
  } finally {
    endIt();
    await first;
  }
});
