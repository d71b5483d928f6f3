import { DeleteItemCommand } from '@aws-sdk/client-dynamodb';
import { expect, test } from '@jest/globals';
import { unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';

const { running, service, proxy, dynamoDb, tableName } = await startServiceWithStore(
  {},
  { movableClock: true },
);

test('an expired Idempotency-Key that the table removes meanwhile makes one access request, and no more', async () => {
  const headers = { 'idempotency-key': unique('key') };
  const create = async () => {
    const { status, body } = await service.createAccessRequest({ headers });
    return { status, id: body.id };
  };
  const first = await create();
  running.advance(24 * 3600 + 1);

  proxy.hook = async ({ operation, body }) => {
    const Key = body.Key as { pk: { S: string }; sk: { S: string } };
    if (operation !== 'UpdateItem' || Key.sk.S === 'COUNTER') return;
    await dynamoDb.send(new DeleteItemCommand({ TableName: tableName, Key }));
  };
  expect(await create()).toEqual({ status: 201, id: first.id + 1 });
  proxy.hook = () => undefined;

  expect(await create()).toEqual({ status: 201, id: first.id + 1 });
  expect((await service.createAccessRequest()).body.id).toBe(first.id + 2);
});
