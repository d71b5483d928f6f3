import {
  CreateTableCommand,
  DeleteTableCommand,
  DynamoDBClient,
  type KeySchemaElement,
  PutItemCommand,
  paginateScan,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import dynalite from 'dynalite';
import { table } from '../../lib/storage/table.ts';
import { localAws } from '../invoke-function.ts';
import { type LoopbackServer, listen } from './loopback-server.ts';

/** DynamoDB in this process: in memory, or in the folder that is named. */
export function startDynalite(path?: string): Promise<LoopbackServer> {
  return listen(dynalite({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0, path }), 0);
}

const keys = (partitionKey: string, sortKey: string): KeySchemaElement[] => [
  { AttributeName: partitionKey, KeyType: 'HASH' },
  { AttributeName: sortKey, KeyType: 'RANGE' },
];

/**
 * Creates the service's table, as the stack does, and waits until it is active.
 * @returns the ARN of its stream; undefined for a store without streams
 */
export async function createTable(client: DynamoDBClient, name: string): Promise<string | undefined> {
  const localIndexes = Object.entries(table.localIndexes);
  const globalIndexes = Object.entries(table.globalIndexes);
  const attributes = [
    table.partitionKey,
    table.sortKey,
    ...localIndexes.map(([, { sortKey }]) => sortKey),
    ...globalIndexes.flatMap(([, { partitionKey, sortKey }]) => [partitionKey, sortKey]),
  ];
  const { TableDescription } = await client.send(
    new CreateTableCommand({
      TableName: name,
      BillingMode: 'PAY_PER_REQUEST',
      StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
      AttributeDefinitions: attributes.map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
      KeySchema: keys(table.partitionKey, table.sortKey),
      LocalSecondaryIndexes: localIndexes.map(([IndexName, { sortKey, projection }]) => ({
        IndexName,
        KeySchema: keys(table.partitionKey, sortKey),
        Projection: { ProjectionType: projection },
      })),
      GlobalSecondaryIndexes: globalIndexes.map(([IndexName, { partitionKey, sortKey, projection }]) => ({
        IndexName,
        KeySchema: keys(partitionKey, sortKey),
        Projection: { ProjectionType: projection },
      })),
    }),
  );
  const soon = { minDelay: 0.05, maxDelay: 0.05, maxWaitTime: 60 };
  await waitUntilTableExists({ client, ...soon }, { TableName: name });
  return TableDescription?.LatestStreamArn;
}

export const deleteTable = (client: DynamoDBClient, name: string): Promise<unknown> =>
  client.send(new DeleteTableCommand({ TableName: name }));

/**
 * Copies all items to a new table, which builds its indexes anew. dynalite writes an item and its index entries one after the
 * other; so a process that was killed in between leaves indexes that differ from their table.
 */
export async function copyTable(client: DynamoDBClient, from: string, to: string): Promise<void> {
  await createTable(client, to);
  for await (const { Items = [] } of paginateScan({ client }, { TableName: from })) {
    for (const Item of Items) await client.send(new PutItemCommand({ TableName: to, Item }));
  }
}

/** A client for a DynamoDB endpoint on this machine; these accept any credentials. */
export const localDynamoDb = (endpoint: string): DynamoDBClient =>
  new DynamoDBClient(localAws({ url: endpoint, secret_access_key: 'local' }));
