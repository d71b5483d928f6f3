import { DeleteCommand, PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { type InvocableFunction, startLocalAws } from '../../infra/local/aws.ts';
import type { Route } from '../../infra/local/gateway.ts';
import {
  loadOtherFunctions,
  loadRoutes,
  secretIds,
  setEnvironment,
} from '../../infra/local/load-functions.ts';
import { readBody, serve } from '../../infra/local/loopback-server.ts';
import { rotateSigningKeys } from '../../infra/local/stack.ts';
import { clock } from '../../lib/clock.ts';
import { startOwnTable } from '../support/own-table.ts';

const table = await startOwnTable();
const functions = new Map<string, InvocableFunction>();
const aws = await startLocalAws(functions);
/** What CodeDeploy was told. */
const told: unknown[] = [];
const codeDeploy = await serve(async (request, response) => {
  told.push(JSON.parse((await readBody(request)).toString()));
  response.setHeader('content-type', 'application/x-amz-json-1.1').end('{}');
});
afterAll(() => Promise.all([table.stop(), aws.close(), codeDeploy.close()]));

aws.secrets.create(secretIds.signingKeys, 'to be replaced by the first rotation');
for (const id of [secretIds.refreshTokens, secretIds.providerSettings]) aws.secrets.create(id, 'a secret');
setEnvironment({
  issuer: 'https://login.example.com',
  tableName: table.tableName,
  dynamoDbEndpoint: table.url,
  awsEndpoint: aws.url,
});
Object.assign(process.env, {
  AWS_ENDPOINT_URL_LAMBDA: aws.url,
  AWS_ENDPOINT_URL_CODEDEPLOY: codeDeploy.url,
  ISSUE_TOKEN_VERSION: 'issue-token',
  LIST_SIGNING_KEYS_VERSION: 'list-signing-keys',
  SEARCH_EVENTS_VERSION: 'search-events',
});
await loadOtherFunctions(functions);
await rotateSigningKeys(aws.url);
const routes: Route[] = [];
await loadRoutes(routes);

let log: string;
const write = jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
  log += String(text);
  return true;
});
afterAll(() => write.mockRestore());

/** The new versions are those of this code. */
beforeEach(() => {
  told.length = 0;
  log = '';
  for (const { endpoint, handler } of routes) {
    const key = { POST: 'issue-token', GET: 'search-events', DELETE: '' }[endpoint.method];
    const name = endpoint.path.endsWith('/jwks') ? 'list-signing-keys' : key;
    const tried = /oauth\/(token|jwks)$|\{access_request_id\}\/events$/.test(endpoint.path);
    if (tried) functions.set(name, (event) => Reflect.apply(handler, undefined, [event, {}]));
  }
});

/** Does what CodeDeploy does before a version gets requests. */
const check = () =>
  functions.get('check-new-versions')?.(
    { DeploymentId: 'd-1', LifecycleEventHookExecutionId: 'e-1' },
    { awsRequestId: 'r-1' },
  );

const verdict = (status: string) => [{ deploymentId: 'd-1', lifecycleEventHookExecutionId: 'e-1', status }];

const itemsLeft = async () =>
  (await table.dynamoDb.send(new ScanCommand({ TableName: table.tableName }))).Items ?? [];
/** The partitions that are left: with nothing of the check, only the public signing keys. */
const partitionsLeft = async (): Promise<unknown[]> => (await itemsLeft()).map(({ pk }) => pk);

test('versions that issue a token, publish its key and search may get requests; nothing of the check is left', async () => {
  await check();
  expect(log).not.toContain('new_versions_failed');
  expect(told).toEqual(verdict('Succeeded'));
  expect(await partitionsLeft()).toEqual(['SIGNING_KEYS']);
});

test('they are also tried where requests must come through CloudFront', async () => {
  process.env.ORIGIN_SECRET_HASHES = '0'.repeat(64);
  await check();
  delete process.env.ORIGIN_SECRET_HASHES;
  expect(told).toEqual(verdict('Succeeded'));
});

const answering = (statusCode: number, body: unknown) => async () => ({
  statusCode,
  body: JSON.stringify(body),
});

test.each<[string, string, InvocableFunction]>([
  ['does not run', 'issue-token', () => Promise.reject(new Error('Cannot find module'))],
  ['rejects the client', 'issue-token', answering(401, { error: 'invalid_client' })],
  ['issues what is no token', 'issue-token', answering(200, { access_token: 'a.b.c' })],
  ['publishes no keys', 'list-signing-keys', answering(200, { keys: [] })],
  ['answers a search with an error', 'search-events', answering(500, {})],
  ['finds what nobody wrote', 'search-events', answering(200, { total: 1, results: [{ id: 1 }] })],
])('one that %s gets none, and nothing of the check is left', async (_, name, broken) => {
  functions.set(name, broken);
  await check();
  expect(told).toEqual(verdict('Failed'));
  expect(log).toContain('new_versions_failed');
  expect(log).not.toMatch(/(lcs|acs)_|eyJ/);
  expect(await partitionsLeft()).toEqual(['SIGNING_KEYS']);
});

describe('the format of the table', () => {
  const key = { pk: 'TABLE', sk: 'FORMAT' };
  const TableName = table.tableName;
  const putFormat = (format: unknown) =>
    table.dynamoDb.send(new PutCommand({ TableName, Item: { ...key, format, updated_at: 'before' } }));
  const formatNow = async () => (await itemsLeft()).find(({ pk }) => pk === key.pk)?.format;
  afterEach(() => table.dynamoDb.send(new DeleteCommand({ TableName, Key: key })));

  /** Does what CloudFormation does in a step of a deployment, and returns what it hears. */
  async function step(Step: 'check' | 'record', RequestType = 'Update'): Promise<unknown> {
    const event = {
      RequestType,
      ResponseURL: codeDeploy.url,
      StackId: 'a-stack',
      RequestId: 'a-request',
      LogicalResourceId: 'TableFormat',
      ResourceProperties: { Step },
    };
    await functions.get('guard-table-format')?.(event, { awsRequestId: 'r-1' });
    return told.at(-1);
  }

  const Reason =
    'The table has format 2, and this version reads format 1. Use the version that wrote it, or a newer one.';

  test('that is newer keeps the new versions from requests, and the deployment from any change', async () => {
    await putFormat(2);
    await check();
    expect(told).toEqual(verdict('Failed'));
    expect(log).toContain(Reason);
    expect(await partitionsLeft()).toEqual(expect.arrayContaining(['SIGNING_KEYS', 'TABLE']));
    expect(await itemsLeft()).toHaveLength(2);
    expect(await step('check')).toMatchObject({ Status: 'FAILED', Reason });
    expect(await step('check', 'Delete')).toMatchObject({ Status: 'SUCCESS' });
  });

  test('that is not noted is the first; a deployment notes its own when it is live', async () => {
    expect(await step('check', 'Create')).toMatchObject({ Status: 'SUCCESS' });
    expect(await formatNow()).toBeUndefined();
    expect(await step('record', 'Create')).toMatchObject({ Status: 'SUCCESS' });
    expect(await formatNow()).toBe(1);
    expect(await step('check')).toMatchObject({ Status: 'SUCCESS' });
    await check();
    expect(told.at(-1)).toEqual(verdict('Succeeded')[0]);
  });

  test('never falls, and one that makes no sense is an error', async () => {
    await putFormat(2);
    expect(await step('record')).toMatchObject({ Status: 'SUCCESS' });
    expect(await formatNow()).toBe(2);
    await putFormat('one');
    await expect(step('check')).rejects.toThrow();
  });
});

test('what a killed check left ends by itself, and the next check removes it unless it may be in use', async () => {
  const { createProbe } = await import('../../lib/deployment/probe.ts');
  const { client } = await createProbe();
  const left = (await itemsLeft()).filter(({ pk }) => pk !== 'SIGNING_KEYS');
  expect(left.map(({ client_id }) => client_id)).toContain(client.id);
  for (const { expires_at } of left) expect(expires_at - Date.now() / 1000).toBeLessThanOrEqual(600);

  await check();
  expect(await itemsLeft()).toHaveLength(left.length + 1);
  const { now } = clock;
  clock.now = () => new Date(Date.now() + 601_000);
  await check();
  clock.now = now;
  expect(told).toEqual([...verdict('Succeeded'), ...verdict('Succeeded')]);
  expect(await partitionsLeft()).toEqual(['SIGNING_KEYS']);
});
