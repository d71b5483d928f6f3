import { describe, expect, test } from '@jest/globals';
import * as keys from '../../lib/storage/keys.ts';

/**
 * Builders that take no ids, or take numbers or what other builders made, which have nothing to
 * encode.
 */
const withoutIds = `accessRequestPartition accessRequestKey eventKey ordinalIn ordinalOf
  publicSigningKeysKey accessRequestCounterKey tableFormatKey
  hashOf namePosition namePrefix`.split(/\s+/);
const isNumbered = (name: string): boolean => name.endsWith('Shard') || name === 'listEntryKey';
const builders = Object.entries(keys).flatMap(([name, value]) => {
  if (typeof value !== 'function' || withoutIds.includes(name)) return [];
  const build = (a: string, b: string): string[] => {
    const numbered = name === 'accessKey' ? [7, a] : [a, b];
    const ids = isNumbered(name) ? [a, 7] : numbered;
    const key: unknown = Reflect.apply(value, undefined, ids);
    return typeof key === 'string' ? [key] : Object.values(Object(key));
  };
  return [[name, build] as const];
});

test('the place of a name in its list is not too long for a key, and its prefixes find it', () => {
  for (const name of ['x', '🔑', 'İ', '\u{10ffff}'].map((character) => character.repeat(5_000))) {
    const place = keys.namePosition(name, `la_${'A'.repeat(22)}`);
    expect(Buffer.byteLength(place)).toBeLessThan(1_024);
    for (const length of [2, 40, 4_000])
      expect(place.startsWith(keys.namePrefix(name.slice(0, length)))).toBe(true);
  }
});

describe.each(builders)('%s', (_, build) => {
  const usual = build('la_1', 'c_1');

  test.each([
    ['the separator of keys', 'la_1#SESSION#s_1', '#SESSION#s_1#'],
    ['more than a key can hold', 'x'.repeat(5_000), 'y'.repeat(5_000)],
    ['nothing', '', ''],
    ['a line feed and a zero', '\n', '\0'],
  ])('an id of %s neither adds a part to a key nor makes it too long', (_, a, b) => {
    const texts = build(a, b);
    const parts = (text: string): number => text.split('#').length;
    expect(texts.map(parts)).toEqual(usual.map(parts));
    for (const text of texts) expect(text).toMatch(/^[\w.=#-]{1,300}$/);
  });

  test('different ids make different keys', () => {
    expect(build('la_1#x', 'c_1')).not.toEqual(build('la_1', 'x#c_1'));
  });
});
