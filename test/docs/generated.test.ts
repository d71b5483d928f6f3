import { globSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { generatedFiles } from '../../infra/docs/generated-files.ts';

const generated = await generatedFiles('.');

test.each([...generated])('%s is what npm run generate writes', (file, text) => {
  expect(readFileSync(file, 'utf8')).toBe(text);
});

test('every event file belongs to an endpoint', () => {
  expect(globSync('test/events/*.json').filter((file) => !generated.has(file))).toEqual([]);
});
