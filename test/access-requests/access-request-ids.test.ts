import { expect, test } from '@jest/globals';
import { startServiceWithStore } from '../support/store-and-service.ts';

const { service, proxy } = await startServiceWithStore();

const create = async (): Promise<number> => (await service.createAccessRequest()).body.id;

test('100 at once: all 201, each with an id of its own, after at most 4 calls to the store each', async () => {
  await create();
  proxy.forget();
  const answers = await Promise.all(Array.from({ length: 100 }, () => service.createAccessRequest()));
  expect(answers.map(({ status }) => status)).toEqual(Array(100).fill(201));
  expect(new Set(answers.map(({ body }) => body.id)).size).toBe(100);
  expect(proxy.calls().length / 100).toBeLessThanOrEqual(4);
});
