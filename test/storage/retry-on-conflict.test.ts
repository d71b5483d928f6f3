import { expect, test } from '@jest/globals';
import { retryOnConflict } from '../../lib/storage/batches.ts';

/** Lets all attempts that are under way get as far as this. */
const allOthers = () => new Promise<void>((resolve) => setImmediate(resolve));

test('a hundred writers of one item that begin at once: all succeed', async () => {
  let stored = 0;
  const write = async (): Promise<number | undefined> => {
    const read = stored;
    await allOthers();
    if (stored !== read) return undefined;
    stored += 1;
    return stored;
  };
  const writers = Array.from({ length: 100 }, () => retryOnConflict(write, 'Others write.'));
  expect((await Promise.all(writers)).toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: 100 }, (_, place) => place + 1),
  );
});

test('a writer whom others always outrun: an error that says to try again', async () => {
  let attempts = 0;
  const write = async (): Promise<undefined> => {
    attempts += 1;
  };
  await expect(retryOnConflict(write, 'Others keep writing.')).rejects.toMatchObject({
    code: 'temporarily_unavailable',
    message: 'Others keep writing. Try again.',
  });
  expect(attempts).toBe(30);
});
