import { setTimeout as wait } from 'node:timers/promises';
import {
  CreateTableCommand,
  DeleteTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  type KeySchemaElement,
  type KeyType,
} from '@aws-sdk/client-dynamodb';
import dynalite from 'dynalite';
import { table } from '../../lib/storage/table.ts';
import { type LoopbackServer, listen } from './loopback-server.ts';

/** DynamoDB in this process, in memory. */
export const startDynalite = (): Promise<LoopbackServer> =>
  listen(dynalite({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 }), 0);

const key = (name: string, KeyType: KeyType): KeySchemaElement => ({ AttributeName: name, KeyType });
const keys = (partitionKey: string, sortKey: string) => [key(partitionKey, 'HASH'), key(sortKey, 'RANGE')];

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
  await client.send(
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
  for (;;) {
    const { Table } = await client.send(new DescribeTableCommand({ TableName: name }));
    if (Table?.TableStatus === 'ACTIVE') return Table.LatestStreamArn;
    await wait(50);
  }
}

export const deleteTable = (client: DynamoDBClient, name: string): Promise<unknown> =>
  client.send(new DeleteTableCommand({ TableName: name }));

/** A client for a DynamoDB endpoint on this machine; these accept any credentials. */
export const localDynamoDb = (endpoint: string): DynamoDBClient =>
  new DynamoDBClient({
    endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
