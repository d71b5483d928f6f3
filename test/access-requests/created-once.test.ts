import { PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { expect, test } from '@jest/globals';
import { unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';

const { service, proxy, dynamoDb, tableName } = await startServiceWithStore();
const { account_id: account } = service.demo.account;

const withKey = () => ({ headers: { 'idempotency-key': unique('key') } });
const operations = () => proxy.calls().map(({ operation }) => operation);

/** How many access requests the table holds; each of them is listed, and published when it is written. */
async function accessRequestCount(): Promise<number> {
  const { Count = 0 } = await dynamoDb.send(
    new ScanCommand({
      TableName: tableName,
      FilterExpression: 'sk = :kind',
      ExpressionAttributeValues: { ':kind': { S: 'ACCESS_REQUEST' } },
    }),
  );
  return Count;
}

test('five at once with one Idempotency-Key make one access request, which all of them answer', async () => {
  const before = await accessRequestCount();
  const options = withKey();
  const answers = await Promise.all(Array.from({ length: 5 }, () => service.createAccessRequest(options)));
  expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(201));
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect(await accessRequestCount()).toBe(before + 1);
  expect((await service.search('', { id: answers[0]?.body.id })).status).toBe(200);
});

test('a key costs 5 calls to the store, and 2 when it comes again', async () => {
  await service.createAccessRequest();
  const options = withKey();
  proxy.forget();
  await service.createAccessRequest(options);
  expect(operations()).toEqual(['GetItem', 'UpdateItem', 'UpdateItem', 'PutItem', 'PutItem']);
  proxy.forget();
  await service.createAccessRequest(options);
  expect(operations()).toEqual(['GetItem', 'BatchGetItem']);
});

test('a key that comes again does not give back an access that the operator has revoked', async () => {
  const options = withKey();
  const { id } = (await service.createAccessRequest(options)).body;
  await service.operate('access-requests', 'revoke', { 'access-request': id, account });
  expect((await service.createAccessRequest(options)).body.id).toBe(id);
  expect((await service.search('', { id })).status).toBe(403);
});

test('an id that belongs to another access request is given to nobody else, if the counter has gone back', async () => {
  const { id } = (await service.createAccessRequest({ account: service.demo.other_account })).body;
  const back = { last_id: id - 1 };
  const Key = marshall({ pk: 'ACCESS_REQUESTS', sk: 'COUNTER' });
  const goBack = () =>
    dynamoDb.send(new PutItemCommand({ TableName: tableName, Item: { ...Key, ...marshall(back) } }));
  for (const options of [{}, withKey()]) {
    await goBack();
    expect((await service.createAccessRequest(options)).status).toBe(500);
  }
  expect((await service.search('', { id })).status).toBe(403);
  expect((await service.search('', { id, account: service.demo.other_account })).status).toBe(200);
});
