import { DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb';
import type { OwnTable } from './own-table.ts';

/** Every item of a service's table that names an id or another text, anywhere. */
export async function itemsAbout(
  { dynamoDb, tableName }: Pick<OwnTable, 'dynamoDb' | 'tableName'>,
  text: string,
): Promise<Record<string, unknown>[]> {
  const { Items = [] } = await DynamoDBDocumentClient.from(dynamoDb).send(
    new ScanCommand({ TableName: tableName }),
  );
  return Items.filter((item) => JSON.stringify(item).includes(text));
}
