import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, expect, jest, test } from '@jest/globals';
import { decodeProtectedHeader } from 'jose';
import { setEnvironment } from '../../infra/local/load-functions.ts';
import { rotationSteps } from '../../infra/local/stack.ts';
import { startOwnTable, startSecretsStandIn, stopClock } from '../support/own-table.ts';
import { asClient } from '../support/service.ts';

Object.assign(process.env, { AWS_CALL_MILLISECONDS: '700', METRICS_NAMESPACE: 'a-stack' });
const table = await startOwnTable();
process.env.LOG_LEVEL = 'INFO';
const manager = await startSecretsStandIn();
setEnvironment(
  {
    base_url: 'https://login.example.com',
    dynamodb_endpoint: table.url,
    table_name: table.tableName,
  },
  { url: manager.url, secret_access_key: 'local' },
);
for (const id of ['signing-keys', 'refresh-tokens', 'provider-settings'])
  manager.secrets.create(id, 'a secret');
const { handler: issueToken } = await import('../../functions/issue-token.ts');
const { handler: listKeys } = await import('../../functions/list-signing-keys.ts');
const { handler: rotate } = await import('../../functions/rotate-signing-keys.ts');
const rotation = (event: object) => rotate(event, { awsRequestId: 'r-1' });
const { createLoginApp } = await import('../../lib/login-apps/login-app.ts');
const { createClient } = await import('../../lib/login-apps/clients.ts');

const pass = stopClock();
const minute = 60_000;
const client = await createClient((await createLoginApp('Test')).login_app_id);

let log = '';
const write = jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
  log += String(text);
  return true;
});
afterAll(() => write.mockRestore());

const linesOf = (event: string): unknown[] => {
  const lines = log.trim().split('\n');
  return lines.map((line) => JSON.parse(line)).filter((line) => line.event === event);
};

let reads: number;
const during = (fault: 'fails' | 'stalls' | undefined, atMost = Infinity): void => {
  reads = 0;
  manager.hook = (call) => {
    if (call !== 'GetSecretValue') return undefined;
    reads += 1;
    return reads <= atMost ? fault : undefined;
  };
};

/** Has a function answer a request in this process. */
async function answer(
  handler: typeof issueToken | typeof listKeys,
  routeKey: string,
  request: object = {},
) {
  const requestContext = { requestId: 'r-1', routeKey };
  const event = {
    version: '2.0',
    routeKey,
    rawQueryString: '',
    headers: {},
    requestContext,
    ...request,
  };
  const answered: unknown = await Reflect.apply(handler, undefined, [event, {}]);
  const { statusCode: status, headers, body } = Object(answered);
  return { status, headers, body: JSON.parse(body) };
}

/** Asks a warm function for a Login App Token. */
const issueAnswer = () =>
  answer(issueToken, 'POST /v2/marketing/oauth/token', {
    headers: { ...asClient(client), 'content-type': 'application/x-www-form-urlencoded' },
    isBase64Encoded: false,
    body: 'grant_type=client_credentials',
  });
const publishedKeys = () => answer(listKeys, 'GET /v2/marketing/oauth/jwks');

/** The status, and the id of the key that signed the token. */
async function issue(): Promise<{ status: number; kid?: string }> {
  const { status, body } = await issueAnswer();
  return {
    status,
    ...(status === 200 && { kid: String(decodeProtectedHeader(body.access_token).kid) }),
  };
}

const beforehand = [await issueAnswer(), await publishedKeys()];
const refusals = linesOf('token_refused');
const ClientRequestToken = randomUUID();
for (const Step of rotationSteps)
  await rotation({ SecretId: 'signing-keys', ClientRequestToken, Step });
const afterwards = [await issueAnswer(), await publishedKeys()];

beforeEach(async () => {
  during(undefined);
  pass(5 * minute);
  expect(await issue()).toMatchObject({ status: 200 });
  pass(5 * minute);
  log = '';
});

test('until the first rotation has finished, tokens are a 503 with Retry-After, and no cache keeps the empty key set; then both work at once', () => {
  expect(beforehand).toMatchObject([
    { status: 503, headers: { 'retry-after': '10' }, body: { error: 'temporarily_unavailable' } },
    { status: 200, headers: { 'cache-control': 'no-store' }, body: { keys: [] } },
  ]);
  // To the alarms it is as much a 5xx as a 500.
  expect(refusals).toMatchObject([{ TokensRefused: 1, ServerErrors: 1 }]);
  expect(afterwards).toMatchObject([
    { status: 200 },
    { status: 200, headers: { 'cache-control': 'public, max-age=300' }, body: { keys: [{}, {}] } },
  ]);
});

test('while Secrets Manager fails, the last key signs for six hours; the secret is read once a minute, and the log says so', async () => {
  during('fails');
  const stale = await issue();
  expect(stale.status).toBe(200);
  const failure = { name: 'AccessDeniedException' };
  const line = { level: 'ERROR', secret: 'signing-keys', age_seconds: 300, failure };
  expect(linesOf('secret_stale')).toMatchObject([line]);
  expect(await issue()).toEqual(stale);
  expect(reads).toBe(1);
  pass(minute);
  expect(await issue()).toEqual(stale);
  expect(reads).toBe(2);
  pass(353 * minute);
  expect(await issue()).toEqual(stale);
  pass(minute);
  expect(await issue()).toEqual({ status: 500 });
  during(undefined);
  expect(await issue()).toEqual(stale);
});

test('a key that was revoked signs no more, although the function that signs cannot read the new one', async () => {
  const { kid } = await issue();
  pass(5 * minute);
  await rotation({ revoke: kid });
  during('fails');
  expect(await issue()).toEqual({ status: 500 });
  during(undefined);
  const renewed = await issue();
  expect(renewed).toMatchObject({ status: 200 });
  expect(renewed.kid).not.toBe(kid);
});

test('a read that is never answered is sent again', async () => {
  during('stalls', 1);
  expect(await issue()).toMatchObject({ status: 200 });
  expect({ reads, stale: linesOf('secret_stale') }).toEqual({ reads: 2, stale: [] });
});
