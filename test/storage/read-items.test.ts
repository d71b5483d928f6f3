import { afterAll, expect, test } from '@jest/globals';
import { startOwnTable, startStore } from '../support/own-table.ts';
import { startStoreProxy } from '../support/store-proxy.ts';

await startOwnTable();
const proxy = await startStoreProxy(await startStore());
afterAll(() => proxy.close());
process.env.AWS_ENDPOINT_URL_DYNAMODB = proxy.url;
const { putItem, readAll } = await import('../../lib/storage/items.ts');

const keyOf = (number: number) => ({
  pk: 'TEST',
  sk: String(number),
  parse: (item: object) => item,
});

/** The numbers of keys in the requests. */
const sizes = (): number[] =>
  proxy
    .calls()
    .filter(({ operation }) => operation === 'BatchGetItem')
    .map(({ body }) => JSON.stringify(body).match(/"sk"/g)?.length ?? 0);

test('more keys than a request may have: several requests, and each item in its place', async () => {
  for (const number of [0, 99, 100, 200]) await putItem(keyOf(number), { number });
  proxy.forget();
  const items = await readAll(Array.from({ length: 201 }, (_, number) => keyOf(number)));
  const found = items.flatMap((item, place) => (item ? [[place, item.number]] : []));
  expect(found).toEqual([0, 99, 100, 200].map((number) => [number, number]));
  expect(items).toHaveLength(201);
  expect(sizes().toSorted((a, b) => a - b)).toEqual([1, 100, 100]);
});
