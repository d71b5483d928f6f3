import {
  DeleteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  paginateScan,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import type { OwnTable } from './own-table.ts';

type Table = Pick<OwnTable, 'dynamoDb' | 'tableName'>;
type Key = { pk: string; sk: string };

/** Every item of a service's table that names an id or another text, anywhere. */
export async function itemsAbout(
  { dynamoDb, tableName: TableName }: Table,
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

export const itemAt = async ({ dynamoDb, tableName: TableName }: Table, Key: Key) =>
  (
    await DynamoDBDocumentClient.from(dynamoDb).send(
      new GetCommand({ TableName, Key, ConsistentRead: true }),
    )
  ).Item;

export const removeItem = ({ dynamoDb, tableName: TableName }: Table, Key: Key) =>
  DynamoDBDocumentClient.from(dynamoDb).send(new DeleteCommand({ TableName, Key }));

export const removeAttribute = (
  { dynamoDb, tableName: TableName }: Table,
  Key: Key,
  attribute: string,
) =>
  DynamoDBDocumentClient.from(dynamoDb).send(
    new UpdateCommand({ TableName, Key, UpdateExpression: `REMOVE ${attribute}` }),
  );

/** Lets the time of an item be over, now or in some seconds, though the table has it still. */
export const expireItem = (of: Table, key: Key, seconds = 0) =>
  setAttributes(of, key, { expires_at: Math.floor(Date.now() / 1000) + seconds });

/** Sets attributes of an item as no request does, such as another release. */
export async function setAttributes(
  { dynamoDb, tableName: TableName }: Table,
  Key: Key,
  attributes: Record<string, unknown>,
): Promise<void> {
  const client = DynamoDBDocumentClient.from(dynamoDb);
  for (const [name, value] of Object.entries(attributes))
    await client.send(
      new UpdateCommand({
        TableName,
        Key,
        UpdateExpression: 'SET #name = :value',
        ExpressionAttributeNames: { '#name': name },
        ExpressionAttributeValues: { ':value': value },
      }),
    );
}
