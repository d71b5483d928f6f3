import { paginateScan } from '@aws-sdk/client-dynamodb';
import type { Demo } from '../../infra/local/demo.ts';
import { localDynamoDb } from '../../infra/local/dynamodb.ts';

/** How many Login Users and sessions the table holds for each Login App, by its id; it has no entry for none. */
export async function countLoginUserItems(demo: Demo): Promise<Map<string, number>> {
  const client = localDynamoDb(demo.dynamodb_endpoint);
  const counts = new Map<string, number>();
  const loginUsers = {
    TableName: demo.table_name,
    FilterExpression: 'begins_with(pk, :login_user)',
    ExpressionAttributeValues: { ':login_user': { S: 'LOGIN_USER#' } },
    ConsistentRead: true,
  };
  for await (const { Items = [] } of paginateScan({ client }, loginUsers)) {
    for (const { login_app_id } of Items) {
      const id = String(login_app_id?.S);
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
  }
  client.destroy();
  return counts;
}
