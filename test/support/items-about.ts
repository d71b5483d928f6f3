import { DynamoDBDocumentClient, paginateScan } from '@aws-sdk/lib-dynamodb';
import type { OwnTable } from './own-table.ts';

/** Every item of a service's table that names an id or another text, anywhere. */
export async function itemsAbout(
  { dynamoDb, tableName: TableName }: Pick<OwnTable, 'dynamoDb' | 'tableName'>,
  text: string,
): Promise<Record<string, unknown>[]> {
  const items: Record<string, unknown>[] = [];
  for await (const { Items = [] } of paginateScan(
    { client: DynamoDBDocumentClient.from(dynamoDb) },
    { TableName, ConsistentRead: true },
  ))
    items.push(...Items);
  return items.filter((item) => JSON.stringify(item).includes(text));
}
