import { BatchWriteCommand, DynamoDBDocumentClient, PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, expect, jest, test } from '@jest/globals';
import { importedAccessRequestKey } from '../../lib/storage/keys.ts';
import { startOwnTable } from '../support/own-table.ts';

const table = await startOwnTable();
const { createAccount } = await import('../../lib/access-requests/account.ts');
const { deleteAccount } = await import('../../lib/access-requests/account.ts');
const { documentClient } = await import('../../lib/storage/client.ts');
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

test('an account whose items take longer to read than a step lasts is deleted, too', async () => {
  const { account_id } = await createAccount('Test', false);
  // 2.6 MB: the store reads 1 MB at a time.
  for (let number = 0; number < 7; number += 1) {
    const Item = { ...importedAccessRequestKey(account_id, `id-${number}`), filler: 'x'.repeat(380_000) };
    await documents.send(new PutCommand({ TableName: table.tableName, Item }));
  }
  // Each read takes one and a half of the five seconds.
  let now = 0;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => now);
  documentClient.middlewareStack.add((next, { commandName }) => (call) => {
    if (commandName === 'QueryCommand') now += 1500;
    return next(call);
  });
  let steps = 0;
  do steps += 1;
  while (!(await deleteAccount(account_id)).deleted && steps < 10);
  clock.mockRestore();
  const { Items } = await documents.send(new ScanCommand({ TableName: table.tableName }));
  expect(Items).toEqual([]);
});
