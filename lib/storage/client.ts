import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { impatient } from '../foundation/aws-client.ts';
import { environment } from '../foundation/environment.ts';

export const tableName = environment('TABLE_NAME');

export const documentClient = DynamoDBDocumentClient.from(new DynamoDBClient(impatient(3)), {
  marshallOptions: { removeUndefinedValues: true },
});
