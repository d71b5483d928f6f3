import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';

// What every function that reads the table must load at least.
const client = DynamoDBDocumentClient.from(new DynamoDBClient({}));

export const handler = (key: Record<string, string>) =>
  client.send(new GetCommand({ TableName: process.env.TABLE_NAME, Key: key }));
