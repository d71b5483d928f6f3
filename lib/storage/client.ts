import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { callMilliseconds, requestTimeouts } from '../foundation/aws-client.ts';
import { environment } from '../foundation/environment.ts';
import { storeCaller } from './call-store.ts';

export const tableName = environment('TABLE_NAME');

export const documentClient = DynamoDBDocumentClient.from(new DynamoDBClient(requestTimeouts(2)), {
  marshallOptions: { removeUndefinedValues: true },
});

/** The function that calls the store. The local stack and measurements replace it. */
export const store = { call: storeCaller(documentClient, callMilliseconds) };
