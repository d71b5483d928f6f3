import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readLines } from '../../infra/operator/read-lines.ts';

const folder = mkdtempSync(join(tmpdir(), 'login-service-'));

/** The lines of a file with this text. */
async function linesOf(text: string) {
  const file = join(folder, 'lines.ndjson');
  writeFileSync(file, text);
  return Array.fromAsync(readLines(file, undefined, undefined));
}

const tooLong = 'The line is longer than 250000 characters.';

test('of a line that is too long, however long, only the beginning is kept', async () => {
  const [first, long, last, ...others] = await linesOf(
    `{}\n{"a":"${'x'.repeat(5_000_000)}"}\n[1]\n`,
  );
  expect([first?.text, last?.text, others]).toEqual(['{}', '[1]', []]);
  expect([long?.line, long?.reason]).toEqual([2, tooLong]);
  expect(long?.text.length).toBeLessThan(600_000);
});

test('white space does not make a line short that was cut', async () => {
  const [line] = await linesOf(`{}${' '.repeat(600_000)}{`);
  expect(line?.reason).toBe(tooLong);
});

test('lines may cross the pieces in which a file is read', async () => {
  const lines = Array.from(
    { length: 2_000 },
    (_, number) => `${number} ${'é😀'.repeat(number + 1)}`,
  );
  expect((await linesOf(lines.join('\r\n'))).map(({ text }) => text)).toEqual(lines);
});
