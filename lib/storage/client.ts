import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { requestTimeouts } from '../foundation/aws-client.ts';
import { environment } from '../foundation/environment.ts';

export const tableName = environment('TABLE_NAME');

export const documentClient = DynamoDBDocumentClient.from(new DynamoDBClient(requestTimeouts(3)), {
  marshallOptions: { removeUndefinedValues: true },
});
