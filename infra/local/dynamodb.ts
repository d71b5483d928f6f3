import {
  CreateTableCommand,
  DeleteTableCommand,
  DynamoDBClient,
  type KeySchemaElement,
  type ProjectionType,
  PutItemCommand,
  paginateScan,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { table } from '../../lib/storage/table.ts';
import { localAws } from '../operator/call/invoke-function.ts';

const keys = (partitionKey: string, sortKey: string): KeySchemaElement[] => [
  { AttributeName: partitionKey, KeyType: 'HASH' },
  { AttributeName: sortKey, KeyType: 'RANGE' },
];

type Index = { partitionKey?: string; sortKey: string; projection: ProjectionType };

const indexesOf = (indexes: Record<string, Index>) =>
  Object.entries(indexes).map(
    ([IndexName, { partitionKey = table.partitionKey, sortKey, projection }]) => ({
      IndexName,
      KeySchema: keys(partitionKey, sortKey),
      Projection: { ProjectionType: projection },
    }),
  );

/** Creates the service's table and waits for it. */
export async function createTable(client: DynamoDBClient, TableName: string): Promise<void> {
  const KeySchema = keys(table.partitionKey, table.sortKey);
  const LocalSecondaryIndexes = indexesOf(table.localIndexes);
  const GlobalSecondaryIndexes = indexesOf(table.globalIndexes);
  const keySchemas = [{ KeySchema }, ...LocalSecondaryIndexes, ...GlobalSecondaryIndexes];
  const names = new Set(
    keySchemas.flatMap((one) => one.KeySchema.map(({ AttributeName }) => AttributeName)),
  );
  await client.send(
    new CreateTableCommand({
      TableName,
      BillingMode: 'PAY_PER_REQUEST',
      StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
      AttributeDefinitions: [...names].map((AttributeName) => ({
        AttributeName,
        AttributeType: 'S',
      })),
      KeySchema,
      LocalSecondaryIndexes,
      GlobalSecondaryIndexes,
    }),
  );
  await waitUntilTableExists(
    { client, minDelay: 0.05, maxDelay: 0.05, maxWaitTime: 60 },
    { TableName },
  );
}

export const deleteTable = (client: DynamoDBClient, name: string): Promise<unknown> =>
  client.send(new DeleteTableCommand({ TableName: name }));

/**
 * Copies a table, which builds its indexes anew: a kill can leave dynalite's index entries
 * different from its items.
 */
export async function copyTable(client: DynamoDBClient, from: string, to: string): Promise<void> {
  await createTable(client, to);
  for await (const { Items = [] } of paginateScan({ client }, { TableName: from })) {
    for (const Item of Items) await client.send(new PutItemCommand({ TableName: to, Item }));
  }
}

/** A client for a DynamoDB endpoint on this machine, where any credentials do. */
export const localDynamoDb = (endpoint: string): DynamoDBClient =>
  new DynamoDBClient(localAws({ url: endpoint, secret_access_key: 'local' }));
