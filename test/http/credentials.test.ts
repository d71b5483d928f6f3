import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { basicCredentials, bearerToken } from '../../lib/http/auth/credentials.ts';
import { basicAuthorization } from '../../lib/providers/call-provider.ts';

const base64 = (bytes: string | Buffer): string => Buffer.from(bytes).toString('base64');

describe('basicCredentials', () => {
  test('reads the example of RFC 7617, section 2', () => {
    const credentials = { user: 'Aladdin', password: 'open sesame' };
    expect(basicCredentials('Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==')).toEqual(credentials);
  });

  test('reads UTF-8, as the example of RFC 7617, section 2.1 has it', () => {
    expect(basicCredentials('Basic dGVzdDoxMjPCow==')).toEqual({ user: 'test', password: '123£' });
  });

  test('decodes the form encoding of RFC 6749, section 2.3.1', () => {
    const header = `Basic ${base64('a%3Ab+c:%D0%BA%2B')}`;
    expect(basicCredentials(header)).toEqual({ user: 'a:b c', password: 'к+' });
  });

  test.each([
    ['basic QTpC', { user: 'A', password: 'B' }],
    ['BASIC   QTpC  ', { user: 'A', password: 'B' }],
    [`Basic ${base64('a:b:c')}`, { user: 'a', password: 'b:c' }],
    [`Basic ${base64('a:b').replace('=', '')}`, { user: 'a', password: 'b' }],
    ['QTpC', undefined],
    ['Basic QTpC QTpC', undefined],
    ['Basic QTpC,Basic QTpC', undefined],
    ['Basic QT=pC', undefined],
    ['Basic QTpC===', undefined],
    ['Basic QTp_-', undefined],
    [' Basic QTpC', undefined],
    ['Basic QTpC\n', undefined],
    [`Basic ${base64(`a:${'b'.repeat(766)}`)}`, { user: 'a', password: 'b'.repeat(766) }],
    [`Basic ${base64(`a:${'b'.repeat(767)}`)}`, undefined],
  ])('%j', (header, credentials) => {
    expect(basicCredentials(header)).toEqual(credentials);
  });

  test('reads whatever our own side of the encoding has written', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(text, text, (user, password) => {
        expect(basicCredentials(basicAuthorization(user, password))).toEqual({ user, password });
      }),
    );
  });

  test('never throws', () => {
    const header = fc.oneof(
      fc.string(),
      fc.base64String().map((text) => `Basic ${text}`),
    );
    fc.assert(
      fc.property(header, (text) => {
        const credentials = basicCredentials(text);
        if (credentials) expect(Object.values(credentials)).not.toContain('');
      }),
    );
  });
});

describe('bearerToken', () => {
  test.each([
    ['Bearer mF_9.B5f-4.1JqM', 'mF_9.B5f-4.1JqM'],
    ['bearer abc', 'abc'],
    ['BEARER   abc  ', 'abc'],
    ['Bearer a+/~.-_9==', 'a+/~.-_9=='],
    ['Bearer ', undefined],
    ['Bearerabc', undefined],
    ['Bearer a,Bearer b', undefined],
    ['Bearer a=b', undefined],
    ['Bearer =', undefined],
    ['Bearer é', undefined],
    ['Bearer a\n', undefined],
    [' Bearer a', undefined],
  ])('%j', (header, token) => {
    expect(bearerToken(header)).toBe(token);
  });
});
