import { randomUUID } from 'node:crypto';
import { createTable, localDynamoDb, startDynalite } from '../../infra/local/dynamodb.ts';

/**
 * A table for tests that call the domain in this process, to move its clock. The environment then names it; so the
 * domain's files must be imported afterwards.
 */
export async function startOwnTable(): Promise<{ stop: () => Promise<void> }> {
  const dynalite = await startDynalite();
  const tableName = `test-${randomUUID()}`;
  const client = localDynamoDb(dynalite.url);
  await createTable(client, tableName);
  client.destroy();
  Object.assign(process.env, {
    TABLE_NAME: tableName,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_ENDPOINT_URL_DYNAMODB: dynalite.url,
  });
  return { stop: () => dynalite.close() };
}
