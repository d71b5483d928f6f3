import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { publicSigningKeysKey } from '../../lib/storage/keys.ts';
import { table } from '../../lib/storage/table.ts';

test('the commands of the page about restoring name what the table has', () => {
  const page = readFileSync('docs/maintenance.md', 'utf8');
  const { pk, sk } = publicSigningKeysKey();
  expect(page).toContain(JSON.stringify({ pk: { S: pk }, sk: { S: sk } }));
  expect(page).toContain(`AttributeName=${table.timeToLive}`);
});
