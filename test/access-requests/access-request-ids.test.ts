import { DeleteItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { expect, test } from '@jest/globals';
import { startServiceWithStore } from '../support/store-and-service.ts';

const { service, proxy, dynamoDb, tableName } = await startServiceWithStore();

const create = async (): Promise<number> => (await service.createAccessRequest()).body.id;

/** Creates an access request as versions without a counter did: under the id after the last one. */
async function createWithoutCounter(id: number): Promise<void> {
  const item = {
    pk: `ACCESS_REQUEST#${id}`,
    sk: 'ACCESS_REQUEST',
    access_request_id: id,
    account_id: service.demo.other_account.account_id,
    created_at: '2026-01-31T08:00:00.000Z',
    created_by: 'w_earlier',
    list: 'ACCESS_REQUESTS',
    list_position: `ACCESS_REQUEST#${String(id).padStart(16, '0')}`,
  };
  await dynamoDb.send(new PutItemCommand({ TableName: tableName, Item: marshall(item) }));
}

test('100 at once: all 201, each with an id of its own, after at most 4 calls to the store each', async () => {
  await create();
  proxy.forget();
  const answers = await Promise.all(Array.from({ length: 100 }, () => service.createAccessRequest()));
  expect(answers.map(({ status }) => status)).toEqual(Array(100).fill(201));
  expect(new Set(answers.map(({ body }) => body.id)).size).toBe(100);
  expect(proxy.calls().length / 100).toBeLessThanOrEqual(4);
});

test('in a table without a counter, the ids go on after the last one', async () => {
  const last = (await create()) + 5;
  await createWithoutCounter(last);
  const Key = marshall({ pk: 'ACCESS_REQUESTS', sk: 'COUNTER' });
  await dynamoDb.send(new DeleteItemCommand({ TableName: tableName, Key }));
  const answers = await Promise.all(Array.from({ length: 10 }, create));
  expect(answers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 10 }, (_, n) => last + 1 + n));
});

test('ids that were taken without the counter meanwhile are skipped', async () => {
  const last = await create();
  for (let more = 1; more <= 12; more += 1) await createWithoutCounter(last + more);
  expect(await create()).toBeGreaterThan(last + 12);
  proxy.forget();
  await create();
  expect(proxy.calls().map(({ operation }) => operation)).toEqual(['UpdateItem', 'PutItem', 'PutItem']);
});
