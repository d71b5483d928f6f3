import { BatchWriteCommand, DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, expect, jest, test } from '@jest/globals';
import { importedAccessRequestKey } from '../../lib/storage/keys.ts';
import { startOwnTable } from '../support/own-table.ts';

const table = await startOwnTable();
const { createAccount } = await import('../../lib/accounts/account.ts');
const { deleteAccount } = await import('../../lib/accounts/delete-account.ts');
const documents = DynamoDBDocumentClient.from(table.dynamoDb);
afterAll(table.stop);

test('an account with many imported ids is deleted in steps that keep to their time', async () => {
  const { account_id } = await createAccount('Test', false);
  const puts = Array.from({ length: 60 }, (_, number) => ({
    PutRequest: { Item: importedAccessRequestKey(account_id, `id-${number}`) },
  }));
  for (const some of [puts.slice(0, 25), puts.slice(25, 50), puts.slice(50)])
    await documents.send(new BatchWriteCommand({ RequestItems: { [table.tableName]: some } }));
  // A tenth of a second goes by between two looks at the clock, so that a step has time for 49 of them.
  let now = 0;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => (now += 100));
  const steps = [await deleteAccount(account_id), await deleteAccount(account_id)];
  clock.mockRestore();
  const removed = { accesses: 0 };
  expect(steps).toEqual([
    { deleted: false, removed, again_after_seconds: 0 },
    { deleted: true, removed },
  ]);
  const { Items } = await documents.send(new ScanCommand({ TableName: table.tableName }));
  expect(Items).toEqual([]);
});
