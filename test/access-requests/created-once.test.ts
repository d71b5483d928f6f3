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

test("a claimed id that another account's access request takes meanwhile is left to it", async () => {
  const { id: last } = (await service.createAccessRequest()).body;
  const options = withKey();
  let taken = false;
  // A version of the service without a counter takes the id after the last one.
  proxy.hook = async ({ operation, body }) => {
    const { pk, sk } = (body.Item ?? {}) as Record<string, { S: string }>;
    if (operation !== 'PutItem' || sk?.S !== 'ACCESS_REQUEST' || taken) return;
    taken = true;
    const another = { access_request_id: last + 1, account_id: 'ac_another', created_at: '2026-01-31' };
    const Item = { pk: pk ?? { S: '' }, sk, ...marshall(another) };
    await dynamoDb.send(new PutItemCommand({ TableName: tableName, Item }));
  };
  const first = await service.createAccessRequest(options);
  expect(first).toMatchObject({ status: 201, body: { id: last + 2 } });
  expect((await service.createAccessRequest(options)).text).toBe(first.text);
  expect((await service.search('', { id: last + 1 })).status).toBe(403);
  expect((await service.search('', { id: last + 2 })).status).toBe(200);
});

test('a key that an earlier version stored answers what it made, even without reading it', async () => {
  const options = withKey();
  const { id } = (await service.createAccessRequest(options)).body;
  const item = await claimOf(id);
  delete item.is_claim;
  await dynamoDb.send(new PutItemCommand({ TableName: tableName, Item: item }));
  proxy.forget();
  expect((await service.createAccessRequest(options)).body.id).toBe(id);
  expect(operations()).toEqual(['GetItem']);
});

/** The item of the key that made an access request. */
async function claimOf(id: number) {
  const { Items = [] } = await dynamoDb.send(
    new ScanCommand({
      TableName: tableName,
      FilterExpression: 'begins_with(sk, :kind) AND id = :id',
      ExpressionAttributeValues: { ':kind': { S: 'NEW_ACCESS_REQUEST#' }, ':id': { N: String(id) } },
    }),
  );
  return Items[0] ?? {};
}
