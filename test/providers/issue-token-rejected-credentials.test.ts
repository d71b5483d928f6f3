import { describe, expect, test } from '@jest/globals';
import { parametersOf } from '../../lib/providers/parameters.ts';
import { providerIds } from '../../lib/providers/provider-ids.ts';
import { expectAnswer, expectError, tokenResponse } from '../support/expectations.ts';
import { sharedService } from '../support/service.ts';

const { loginForm, token } = sharedService();
const invalidGrant = {
  status: 400,
  error: 'invalid_grant',
  naming: 'The provider does not accept this credential for this Login App.',
};

const credentialFields: [string, string, string, Record<string, string>][] = [
  ...providerIds.flatMap((provider) =>
    parametersOf(provider).required.map((name): [string, string, string, Record<string, string>] => [
      provider,
      name,
      'provider_credentials',
      {},
    ]),
  ),
  // An id token with at_hash: one without it says nothing of the access token.
  ['provider_f', 'access_token', 'provider_credentials', { with_access_token: 'true' }],
  ['provider_b', 'authorization_code', 'provider_authorization_code', {}],
];

describe.each(credentialFields)('%s, %s', (provider, name, grant, query) => {
  test.each([
    ['20 kB of garbage', 'x'.repeat(20_000)],
    ['20 kB of dots', '.'.repeat(20_000)],
    ['20 kB of base64', Buffer.alloc(15_000, 7).toString('base64')],
    ['16 kB of garbage', 'x'.repeat(16_384)],
    ['CR LF and a header', 'abc\r\nx-evil: 1'],
    ['a line feed', 'abc\n'],
    ['a carriage return', '\rabc'],
    ['a NUL', 'abc\0'],
    ['a space', 'abc def'],
    ['only a space', ' '],
    ['letters that are not ASCII', 'жетон'],
    ['an emoji', '🔑'],
    ['bytes that are not UTF-8', '\ufffd\ufffd'],
    ['__proto__', '__proto__'],
    ['constructor', 'constructor'],
    ['a path', '../../etc/passwd'],
    ['a query', 'a&client_id=b?c=d#e'],
    ['quotes', `'"; DROP TABLE users; --`],
    ['null', 'null'],
  ])('%s: 400 invalid_grant', async (_, value) => {
    const form = await loginForm(provider, query, grant);
    expect(form[name]).toEqual(expect.any(String));
    expectError(await token({ ...form, [name]: value }), invalidGrant);
  });

  test('a credential with one character changed: 400 invalid_grant', async () => {
    const form = await loginForm(provider, query, grant);
    const value = form[name] ?? '';
    const middle = Math.floor(value.length / 2);
    const changed = value.slice(0, middle) + (value[middle] === 'a' ? 'b' : 'a') + value.slice(middle + 1);
    expectError(await token({ ...form, [name]: changed }), invalidGrant);
    expectError(await token({ ...form, [name]: value.slice(0, -1) }), invalidGrant);
    expectAnswer(await token(form), 200, tokenResponse);
  });
});
