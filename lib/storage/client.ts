import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { patience, requestTimeouts } from '../foundation/aws-client.ts';
import { environment } from '../foundation/environment.ts';
import { storeCaller } from './call-store.ts';

export const tableName = environment('TABLE_NAME');

export const documentClient = DynamoDBDocumentClient.from(new DynamoDBClient(requestTimeouts(2)), {
  marshallOptions: { removeUndefinedValues: true },
});

/**
 * How the service calls its store. The local stack and measurements put another function in its
 * place.
 */
export const store = { call: storeCaller(documentClient, patience) };
