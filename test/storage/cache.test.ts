import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { cached } from '../../lib/storage/cache.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** MiB that stay in use after some work. */
async function growthOf(work: () => Promise<unknown>): Promise<number> {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  await work();
  collectGarbage();
  return (process.memoryUsage().heapUsed - before) / 1024 ** 2;
}

const isId = (id: string): boolean => /^id_\d{12}$/.test(id);
const madeUp = Array.from(
  { length: 1_000 },
  (_, number) => `id_${String(number).padStart(12, '0')}`,
);
const long = 'x'.repeat(100_000);

test('ids of another form are neither read nor kept', async () => {
  let reads = 0;
  const { find } = cached(isId, async () => {
    reads += 1;
    return undefined;
  });
  const growth = await growthOf(async () => {
    for (const id of madeUp) await find(JSON.parse(`"${id}${long}"`));
  });
  expect({ reads, isSmall: growth < 20 }).toEqual({ reads: 0, isSmall: true });
  await find(madeUp[0] ?? '');
  expect(reads).toBe(1);
});

test('an id does not keep the long text that it was cut out of', async () => {
  const { find } = cached(isId, async () => undefined);
  const growth = await growthOf(async () => {
    for (const id of madeUp) {
      const text: string = JSON.parse(`"${id}${long}"`);
      await find(text.slice(0, id.length));
    }
  });
  expect(growth).toBeLessThan(20);
});
