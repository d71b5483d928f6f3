import { afterAll, expect, test } from '@jest/globals';
import type { Item, ItemKey } from '../../lib/storage/items.ts';
import { startOwnTable, startStore } from '../support/own-table.ts';
import { startStoreProxy } from '../support/store-proxy.ts';

await startOwnTable();
const proxy = await startStoreProxy(await startStore());
afterAll(() => proxy.close());
process.env.AWS_ENDPOINT_URL_DYNAMODB = proxy.url;
const { putItem, readAll } = await import('../../lib/storage/items.ts');

const keyOf = (number: number): ItemKey<Item, Item> => ({
  pk: 'TEST',
  sk: String(number),
  parse: (item) => item,
});

/** The numbers of keys in the requests, the smallest first. */
const sizes = (): number[] =>
  proxy
    .calls()
    .filter(({ operation }) => operation === 'BatchGetItem')
    .map(({ body }) => JSON.stringify(body).match(/"sk"/g)?.length ?? 0)
    .toSorted((a, b) => a - b);

test('more keys than a request may have: several requests, and each item in its place', async () => {
  const stored = [0, 99, 100, 199, 200];
  for (const number of stored) await putItem(keyOf(number), { number });
  proxy.forget();
  const numbers = Array.from({ length: 201 }, (_, number) => number);
  const items = await readAll(numbers.map(keyOf));
  expect(sizes()).toEqual([1, 100, 100]);
  expect(items.map((item) => item?.number)).toEqual(
    numbers.map((number) => (stored.includes(number) ? number : undefined)),
  );
});
