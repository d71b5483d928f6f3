import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { publicSigningKeysKey } from '../../lib/storage/keys.ts';
import { table } from '../../lib/storage/table.ts';

test('the commands of the page about restoring name what the table has', () => {
  const words = readFileSync('docs/maintenance.md', 'utf8').split(/[\s',]+(?=AttributeName)|\s'?|'\s/);
  const { pk, sk } = publicSigningKeysKey();
  const key = JSON.stringify({ pk: { S: pk }, sk: { S: sk } });
  const named = words.filter((word) => word.startsWith('AttributeName=') || word.startsWith('{"pk"'));
  expect(named).toEqual([`AttributeName=${table.timeToLive}`, key]);
});
