import { randomUUID } from 'node:crypto';
import { afterAll } from '@jest/globals';
import type { EmbeddedStore } from '../../infra/local/embedded-store.ts';
import { localSecrets } from '../../infra/local/local-secrets.ts';
import { readBody, serve } from '../../infra/local/loopback-server.ts';
import { clock } from '../../lib/foundation/clock.ts';
import { createTable, deleteTable, localDynamoDb } from './loaded-once.ts';

export type TestStore = Pick<EmbeddedStore, 'url'> & Partial<Pick<EmbeddedStore, 'ask'>>;

declare global {
  /** What all test files of this worker share; the test environment sets it. */
  var ofWorker: typeof import('./test-environment.ts').ofWorker;
}

/** The store of a test: the one that `DYNAMODB_ENDPOINT` names, or else that of this worker. */
export async function startStore(): Promise<TestStore> {
  const url = process.env.DYNAMODB_ENDPOINT;
  return url ? { url } : globalThis.ofWorker.workerStore();
}

export type OwnTable = Awaited<ReturnType<typeof startOwnTable>>;

/**
 * A table for domain code in this process. It sets the environment, so import the domain's files
 * afterwards.
 */
export async function startOwnTable() {
  const store = await startStore();
  const tableName = `test-${randomUUID()}`;
  const dynamoDb = localDynamoDb(store.url);
  await createTable(dynamoDb, tableName);
  Object.assign(process.env, {
    TABLE_NAME: tableName,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_ENDPOINT_URL_DYNAMODB: store.url,
    LOG_LEVEL: 'ERROR',
    AWS_CALL_MILLISECONDS: process.env.AWS_CALL_MILLISECONDS ?? '60000',
  });
  afterAll(async () => {
    await deleteTable(dynamoDb, tableName);
    dynamoDb.destroy();
  });
  return { url: store.url, tableName, dynamoDb };
}

/**
 * Sees each call of Secrets Manager before it is answered, by its name. May take its time, or let
 * the call go wrong.
 */
type SecretsHook = (call: string) => Promise<SecretsFault> | SecretsFault;
type SecretsFault = 'fails' | 'stalls' | undefined;

/**
 * Secrets Manager for code that runs in this process, which a test can watch and disturb. The
 * environment then names it.
 */
export async function startSecretsStandIn() {
  const secrets = localSecrets();
  const server = await serve(async (request, response) => {
    const target = String(request.headers['x-amz-target']);
    const input = JSON.parse((await readBody(request)).toString());
    const fault = await standIn.hook(target.replace('secretsmanager.', ''));
    if (fault === 'stalls') return;
    const failure = {
      status: 400,
      body: { __type: 'AccessDeniedException', message: 'Told to fail.' },
    };
    const { status, body } = fault === 'fails' ? failure : secrets.answer(target, input);
    response
      .writeHead(status, { 'content-type': 'application/x-amz-json-1.1' })
      .end(JSON.stringify(body));
  });
  afterAll(() => server.close());
  const standIn = { url: server.url, secrets, hook: (() => undefined) as SecretsHook };
  process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER = server.url;
  return standIn;
}

/**
 * Stops the clock of the domain in this process; the returned function moves it, by milliseconds.
 */
export function stopClock(): (milliseconds: number) => void {
  let now = Date.UTC(2026, 0, 31);
  clock.now = () => new Date(now);
  return (milliseconds) => {
    now += milliseconds;
  };
}
