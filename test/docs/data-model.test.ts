import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import * as v from 'valibot';
import { commands } from '../../lib/operator/commands/index.ts';
import * as keys from '../../lib/storage/keys.ts';
import { table } from '../../lib/storage/table.ts';
import { readableFormats, writtenFormat } from '../../lib/storage/table-format.ts';

const rows = readFileSync('docs/data-model.md', 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) =>
    line
      .slice(1, -1)
      .split(' | ')
      .map((cell) => cell.trim().replaceAll('`', '')),
  );

/**
 * Everything that builds keys or is a part of them; the object of sort keys shows in the keys
 * themselves.
 */
const builders = new Map<string, unknown>(
  Object.entries(keys).filter(([, value]) => typeof value !== 'object'),
);
const key = v.object({ pk: v.string(), sk: v.string() });

/** A row of the page that shows what a builder returns. */
const examples = rows.flatMap(([call = '', shown = '']) => {
  const [, name, , inputs] = call.match(/^(\w+)(\((.*)\))?$/) ?? [];
  return name && builders.has(name) ? [{ call, name, inputs, shown }] : [];
});

test('the page about the data model has every key builder', () => {
  expect(examples.map(({ name }) => name).sort()).toEqual([...builders.keys()].sort());
});

test.each(examples)('$call is $shown', ({ name, inputs, shown }) => {
  const builder = builders.get(name);
  const built: unknown =
    typeof builder === 'function'
      ? Reflect.apply(builder, undefined, JSON.parse(`[${inputs}]`))
      : builder;
  const text = v.is(key, built) ? `${built.pk} / ${built.sk}` : String(built);
  // `…` stands for the rest of a hash, which has 43 characters.
  expect(text.replaceAll(/([\w-]{3})[\w-]{40}(?=$| |#)/g, '$1…')).toBe(shown);
});

test('the page about the data model has every index', () => {
  const listed = rows
    .filter(([, kind]) => kind === 'local' || kind === 'global')
    .map((cells) => cells.slice(0, 5));
  const { partitionKey, localIndexes, globalIndexes } = table;
  const indexes = Object.entries({ ...localIndexes, ...globalIndexes }).map(([name, index]) => {
    const kind = name in localIndexes ? 'local' : 'global';
    const { partitionKey: own, sortKey, projection } = { partitionKey, ...index };
    return [name, kind, own, sortKey, projection];
  });
  expect(listed).toEqual(indexes);
});

test('this version reads what it writes, and tables that have no format yet', () => {
  expect(readableFormats).toEqual(expect.arrayContaining([1, writtenFormat]));
});

test('the page about the data model says what each list, show and find of an operator reads', () => {
  const shown = [...commands.keys()].filter((command) => /^\S+ (list|show|find)$/.test(command));
  const listed = rows.flatMap(([commands = '']) => commands.split(', '));
  const missing = shown.filter((command) => !listed.includes(command));
  expect(missing.map((command) => `docs/data-model.md has no row for ${command}.`)).toEqual([]);
});
