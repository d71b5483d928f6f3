import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const rowsOf = (text: string): string[] => text.split('\n').filter((line) => line.startsWith('|'));

test('the tables of the page about capacity are what npm run capacity prints', () => {
  const printed = execFileSync(process.execPath, ['infra/capacity/main.ts'], {
    env: { ...process.env, NODE_OPTIONS: '' },
    encoding: 'utf8',
  });
  expect(rowsOf(readFileSync('docs/capacity.md', 'utf8'))).toEqual(rowsOf(printed));
});
