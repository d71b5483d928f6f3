import { describe, expect, test } from '@jest/globals';
import * as keys from '../../lib/storage/keys.ts';

/** The key or the name of a list that each builder makes of two ids; those that take numbers have nothing to encode. */
const builders: [string, (a: string, b: string) => unknown][] = [
  ['loginAppPartition', keys.loginAppPartition],
  ['loginAppKey', keys.loginAppKey],
  ['clientKey', keys.clientKey],
  ['providerSettingsKey', keys.providerSettingsKey],
  ['mobileApplicationKey', keys.mobileApplicationKey],
  ['loginAppTokenKey', keys.loginAppTokenKey],
  ['loginUserPartition', keys.loginUserPartition],
  ['loginUserKey', keys.loginUserKey],
  ['sessionKey', keys.sessionKey],
  ['deletionKey', keys.deletionKey],
  ['linkKey', keys.linkKey],
  ['deviceKey', keys.deviceKey],
  ['installationKey', keys.installationKey],
  ['accountPartition', keys.accountPartition],
  ['accountKey', keys.accountKey],
  ['newAccessRequestKey', keys.newAccessRequestKey],
  ['importedAccessRequestKey', keys.importedAccessRequestKey],
  ['accessRequestsOfAccountList', keys.accessRequestsOfAccountList],
  ['loginUsersOfLoginAppShard', (id) => keys.loginUsersOfLoginAppShard(id, 7)],
  ['accessKey', (id) => keys.accessKey(7, id)],
  ['actorTypeList', keys.actorTypeList],
  ['actorIdList', keys.actorIdList],
  ['actorList', keys.actorList],
  ['issuerKeysKey', keys.issuerKeysKey],
  ['devicesOfLoginUserList', keys.devicesOfLoginUserList],
  ['devicesOfLoginAppShard', (id) => keys.devicesOfLoginAppShard(id, 7)],
];

/** The texts of a key. */
const textsOf = (key: unknown): string[] => (typeof key === 'string' ? [key] : Object.values(Object(key)));

test('every key builder that takes an id is tried', () => {
  const ofNumbers = ['accessRequestPartition', 'accessRequestKey', 'eventKey', 'ordinalIn', 'ordinalOf'];
  const others = [
    ...['hashOf', 'listNameOf', 'publicSigningKeysKey', 'namePosition', 'namePrefix'],
    ...['accessRequestCounterKey', 'tableFormatKey'],
  ];
  const all = Object.entries(keys).filter(([, value]) => typeof value === 'function');
  const tried = builders.map(([name]) => name);
  expect(all.map(([name]) => name).toSorted()).toEqual([...tried, ...ofNumbers, ...others].toSorted());
});

test('the place of a name in its list is not too long for a key, and its prefixes find it', () => {
  for (const name of ['x', '🔑', 'İ', '\u{10ffff}'].map((character) => character.repeat(5_000))) {
    const place = keys.namePosition(name, `la_${'A'.repeat(22)}`);
    expect(Buffer.byteLength(place)).toBeLessThan(1_024);
    for (const length of [2, 40, 4_000]) {
      expect(place.startsWith(keys.namePrefix(name.slice(0, length)))).toBe(true);
    }
  }
});

describe.each(builders)('%s', (_, build) => {
  const usual = textsOf(build('la_1', 'c_1'));

  test.each([
    ['the separator of keys', 'la_1#SESSION#s_1', '#SESSION#s_1#'],
    ['more than a key can hold', 'x'.repeat(5_000), 'y'.repeat(5_000)],
    ['nothing', '', ''],
    ['a line feed and a zero', '\n', '\0'],
  ])('an id of %s neither adds a part to a key nor makes it too long', (_, a, b) => {
    const texts = textsOf(build(a, b));
    const parts = (text: string): number => text.split('#').length;
    expect(texts.map(parts)).toEqual(usual.map(parts));
    for (const text of texts) expect(text).toMatch(/^[\w.=#-]{1,300}$/);
  });

  test('different ids make different keys', () => {
    expect(textsOf(build('la_1#x', 'c_1'))).not.toEqual(textsOf(build('la_1', 'x#c_1')));
  });
});
