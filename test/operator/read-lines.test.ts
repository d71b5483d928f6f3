import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readLines } from '../../infra/operator/read-lines.ts';

const folder = mkdtempSync(join(tmpdir(), 'login-service-'));

/** The lines of a file with this text. */
async function linesOf(text: string | Uint8Array) {
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

test('a line that is not UTF-8 is not sent, and the others are', async () => {
  const latin1 = Buffer.from('{"subject":"müller"}\n', 'latin1');
  const lines = await linesOf(Buffer.concat([Buffer.from('{"a":"ü"}\n'), latin1, latin1]));
  const reason =
    'The line is not UTF-8. Check the file: if it is Latin-1 or Windows-1252, save it as UTF-8.';
  expect(lines.map(({ line, text, reason }) => ({ line, text, reason }))).toEqual([
    { line: 1, text: '{"a":"ü"}', reason: null },
    { line: 2, text: '', reason },
    { line: 3, text: '', reason },
  ]);
});

test('a byte order mark at the beginning of a file is skipped', async () => {
  const [first] = await linesOf('\ufeff{"a":1}\r\n');
  expect(first).toMatchObject({ text: '{"a":1}', reason: null });
});

test.each([
  ['with a byte order mark', '\ufeff{"a":1}\n'],
  ['without one', '{"a":"\u4e16"}\n'],
])('nothing is read of a file in UTF-16 %s', async (_, text) => {
  await expect(linesOf(Buffer.from(text, 'utf16le'))).rejects.toThrow(
    /^The file .*lines\.ndjson is UTF-16; save it as UTF-8\.$/,
  );
});
