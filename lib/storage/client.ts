import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { patience, requestTimeouts } from '../foundation/aws-client.ts';
import { environment } from '../foundation/environment.ts';
import { makeFirstAttempts } from './first-attempt.ts';

export const tableName = environment('TABLE_NAME');

export const documentClient = DynamoDBDocumentClient.from(new DynamoDBClient(requestTimeouts(3)), {
  marshallOptions: { removeUndefinedValues: true },
});
makeFirstAttempts(documentClient, patience);
