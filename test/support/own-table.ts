import { randomUUID } from 'node:crypto';
import { createTable, deleteTable, localDynamoDb, startDynalite } from '../../infra/local/dynamodb.ts';
import type { LoopbackServer } from '../../infra/local/loopback-server.ts';

/** The store of a test: the one that `DYNAMODB_ENDPOINT` names, that of jest's main process, or else one in this process. */
export async function startStore(): Promise<LoopbackServer> {
  const url = process.env.DYNAMODB_ENDPOINT || process.env.STORE_URL;
  return url ? { url, close: async () => {} } : startDynalite();
}

/** A table without a service. */
export interface OwnTable {
  /** Its store's. */
  url: string;
  tableName: string;
  dynamoDb: ReturnType<typeof localDynamoDb>;
  stop: () => Promise<void>;
}

/**
 * A table for code that calls the domain in this process. The environment then names it; so the domain's files
 * must be imported afterwards.
 */
export async function startOwnTable(): Promise<OwnTable> {
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
  return {
    url: store.url,
    tableName,
    dynamoDb,
    stop: async () => {
      await deleteTable(dynamoDb, tableName);
      dynamoDb.destroy();
      await store.close();
    },
  };
}
