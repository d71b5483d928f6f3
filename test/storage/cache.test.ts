import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

/**
 * Reads a thousand made-up ids, each cut out of a text of 100 KB or longer by it, in a process with
 * a small heap: how many were read, and the MiB that stay in use.
 */
async function readMany(cut: boolean): Promise<{ reads: number; growth: number }> {
  const work = `
    import { cached } from './lib/storage/cache.ts';
    const inUse = () => (gc(), process.memoryUsage().heapUsed / 1024 ** 2);
    let reads = 0;
    const { find } = cached((id) => /^id_\\d{12}$/.test(id), async () => void (reads += 1));
    const before = inUse();
    for (let number = 0; number < 1_000; number += 1) {
      const id = 'id_' + String(number).padStart(12, '0');
      const text = JSON.parse('"' + id + 'x'.repeat(100_000) + '"');
      await find(${cut} ? text.slice(0, id.length) : text);
    }
    console.log(JSON.stringify({ reads, growth: inUse() - before }));`;
  const parameters = ['--expose-gc', '--input-type=module', '--eval', work];
  const { stdout } = await promisify(execFile)(process.execPath, parameters, {
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  return JSON.parse(stdout);
}

test('ids of another form are neither read nor kept', async () => {
  const { reads, growth } = await readMany(false);
  expect({ reads, isSmall: growth < 20 }).toEqual({ reads: 0, isSmall: true });
});

test('an id does not keep the long text that it was cut out of', async () => {
  const { reads, growth } = await readMany(true);
  expect({ reads, isSmall: growth < 20 }).toEqual({ reads: 1_000, isSmall: true });
});
