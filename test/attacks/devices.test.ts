import { GetItemCommand } from '@aws-sdk/client-dynamodb';
import { expect, test } from '@jest/globals';
import { deviceKey } from '../../lib/storage/keys.ts';
import { table } from '../../lib/storage/table.ts';
import { unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';

const { running, service, dynamoDb, tableName } = await startServiceWithStore({}, { movableClock: true });
const day = 86_400;

/** Push tokens of phones that nobody uses any more must not be kept for ever. */
test('a device expires 400 days after its last registration; each one moves the end', async () => {
  const device = { platform: 'android', token: unique('phone') };
  const register = async () => (await service.register(device, await service.loginAppToken())).body.id;
  const expiryOf = async (id: string) => {
    const { pk, sk } = deviceKey(id);
    const { Item } = await dynamoDb.send(
      new GetItemCommand({
        TableName: tableName,
        Key: { pk: { S: pk }, sk: { S: sk } },
        ConsistentRead: true,
      }),
    );
    return Number(Item?.[table.timeToLive]?.N);
  };
  const id = await register();
  const first = await expiryOf(id);
  expect(Math.abs(first - (Date.now() / 1000 + 400 * day))).toBeLessThan(60);
  running.advance(30 * day);
  expect(await register()).toBe(id);
  expect((await expiryOf(id)) - first).toBeGreaterThanOrEqual(30 * day);
});
