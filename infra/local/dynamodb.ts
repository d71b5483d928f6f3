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
import dynalite from 'dynalite';
import { table } from '../../lib/storage/table.ts';
import { localAws } from '../operator/call/invoke-function.ts';
import { type LoopbackServer, listen } from './loopback-server.ts';
import { addTransactions } from './transactions.ts';

/**
 * Starts DynamoDB in this process: in memory, or in a folder, where it undoes a transaction that a
 * kill has interrupted.
 */
export async function startDynalite(path?: string): Promise<LoopbackServer> {
  const server = dynalite({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0, path });
  const undoInterrupted = addTransactions(server, path !== undefined);
  await undoInterrupted();
  return listen(server, 0);
}

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

/**
 * Creates the service's table and waits for it.
 * @returns the ARN of its stream; undefined for a store without streams
 */
export async function createTable(
  client: DynamoDBClient,
  TableName: string,
): Promise<string | undefined> {
  const KeySchema = keys(table.partitionKey, table.sortKey);
  const LocalSecondaryIndexes = indexesOf(table.localIndexes);
  const GlobalSecondaryIndexes = indexesOf(table.globalIndexes);
  const keySchemas = [{ KeySchema }, ...LocalSecondaryIndexes, ...GlobalSecondaryIndexes];
  const names = new Set(
    keySchemas.flatMap((one) => one.KeySchema.map(({ AttributeName }) => AttributeName)),
  );
  const { TableDescription } = await client.send(
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
  return TableDescription?.LatestStreamArn;
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
