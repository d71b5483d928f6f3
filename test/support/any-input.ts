import { expect } from '@jest/globals';
import fc from 'fast-check';
import type { Answer } from './service.ts';

const codes = new Map([
  ['invalid_request', 400],
  ['invalid_grant', 400],
  ['unsupported_grant_type', 400],
  ['unsupported_token_type', 400],
  ['forbidden', 403],
  ['not_found', 404],
  ['unprocessable_entity', 422],
]);

/** A success, or a refusal of the documented shape: never a 401 (the caller is known), never a 500. */
export function expectDocumented({ status, body, headers }: Answer): void {
  expect(headers.get('cache-control')).toBe('no-store');
  if (status === 204) {
    expect(body).toBeUndefined();
    return;
  }
  expect(headers.get('content-type')).toBe('application/json');
  if (status === 200 || status === 201) return;
  expect({ status, body }).toEqual({
    status: codes.get(body.error),
    body: {
      error: expect.any(String),
      error_description: expect.stringMatching(/^[A-Za-z].*\.$/),
      ...(status === 422 && { errors: expect.any(Array) }),
    },
  });
  for (const error of body.errors ?? []) {
    expect(error).toEqual({ field: expect.any(String), message: expect.stringMatching(/^[A-Za-z].*\.$/) });
  }
}

const names = [
  ...['grant_type', 'provider', 'access_token', 'access_secret', 'id_token', 'authorization_code'],
  ...[
    'device',
    'device_id',
    'token',
    'token_type_hint',
    'refresh_token',
    'platform',
    'page',
    'page_size',
    'ids',
    'actor_type',
    'actor_id',
    'comment',
    'status',
  ],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'then', 'length', ''],
];
const values = [
  ...[
    'provider_credentials',
    'provider_authorization_code',
    'client_credentials',
    'refresh_token',
    'ios',
    'android',
  ],
  ...['provider_a', 'provider_b', 'provider_c', 'provider_d', 'provider_e', 'provider_f', 'a'.repeat(64)],
  ...[
    'custom',
    'login_user',
    '1',
    '0',
    '-1',
    '1,2,3',
    '1.5',
    '1e9',
    'NaN',
    'null',
    'true',
    'eyJhbGciOiJub25lIn0..',
  ],
  ...[
    '__proto__',
    'constructor',
    'toString',
    '\r\n',
    '\0',
    '%',
    '%zz',
    '../..',
    '☃',
    '\u2028',
    '{"a":1}',
    '[]',
  ],
];

const someText = fc.string({ unit: 'binary', maxLength: 30 });
const someName = fc.oneof(fc.constantFrom(...names), someText);
export const someValue = fc.oneof(fc.constantFrom(...values), someText);
export const somePairs = fc.array(fc.tuple(someName, someValue), { maxLength: 8 });
/** Text as a URL carries it; what is no Unicode it carries as U+FFFD. */
export const encodedPairs = somePairs.map((pairs) => new URLSearchParams(pairs).toString());
export const rawText = fc.string({
  unit: fc.constantFrom(...'=&%+;#?,"\'[]{}:\\/ \t\n\0aé☃1'),
  maxLength: 40,
});

export const someJson = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    someValue,
    fc.constantFrom(null, true, false, 0, -1, 1.5, 1e300),
    fc.array(tie('value'), { maxLength: 4 }),
    fc
      .array(fc.tuple(someName, tie('value')), { maxLength: 5 })
      .map((entries) => Object.fromEntries(entries)),
  ),
})).value;
export const jsonText = fc.oneof(
  someJson.map((value) => JSON.stringify(value)),
  someJson.map((device) => JSON.stringify({ device })),
  someJson.map((token) => JSON.stringify({ device: { platform: 'android', token } })),
  someJson.map((device_id) => JSON.stringify({ device_id })),
  rawText,
);

const contentTypes = fc.constantFrom(
  'application/json',
  'application/x-www-form-urlencoded',
  'application/x-www-form-urlencoded; charset=latin1',
  'text/plain',
  'application/octet-stream',
);

/** Mostly the right content type, so that most requests get past it. */
export const usually = (right: string) =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(right) }, contentTypes);

/** One segment of a path: mostly this one, else whatever text. */
export const usuallySegment = (right: string): fc.Arbitrary<string> =>
  fc
    .oneof(
      { weight: 4, arbitrary: fc.constant(right) },
      someValue.filter((text) => text !== '' && text.isWellFormed()),
    )
    .map((text) => encodeURIComponent(text).replaceAll('.', '%2e'))
    // Dots alone lead to another path, which is no endpoint's; so does a slash, which API Gateway decodes first.
    .filter((segment) => !/^(%2e){1,2}$|%2F/.test(segment));

/** What a header can carry. */
export const headerText = fc.string({
  unit: fc
    .oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0xa0, max: 0xff }))
    .map((code) => String.fromCharCode(code)),
  maxLength: 300,
});
