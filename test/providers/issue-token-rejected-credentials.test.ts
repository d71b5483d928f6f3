import { describe, expect, test } from '@jest/globals';
import { parametersOf } from '../../infra/generate/provider-tables.ts';
import { providerIds } from '../../lib/providers/identifiers.ts';
import { expectAnswer, expectError, tokenResponse } from '../support/expectations.ts';
import { sharedService, unique } from '../support/service.ts';

const { credentials, token } = sharedService();
const invalidGrant = {
  status: 400,
  error: 'invalid_grant',
  naming: 'The provider does not accept this credential for this Login App.',
};

/** The request for a credential of a provider: all that it gives, or its authorization code alone. */
async function formOf(provider: string, grant: string, query: Record<string, string> = {}) {
  const { authorization_code = '', ...fields } = await credentials(provider, {
    subject: unique('mallory'),
    ...query,
  });
  const isCode = grant === 'provider_authorization_code';
  return { grant_type: grant, provider, ...(isCode ? { authorization_code } : fields) };
}

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
    const form: Record<string, string> = await formOf(provider, grant, query);
    expect(form[name]).toEqual(expect.any(String));
    expectError(await token({ ...form, [name]: value }), invalidGrant);
  });

  test('a credential with one character changed: 400 invalid_grant', async () => {
    const form: Record<string, string> = await formOf(provider, grant, query);
    const value = form[name] ?? '';
    const middle = Math.floor(value.length / 2);
    const changed = value.slice(0, middle) + (value[middle] === 'a' ? 'b' : 'a') + value.slice(middle + 1);
    expectError(await token({ ...form, [name]: changed }), invalidGrant);
    expectError(await token({ ...form, [name]: value.slice(0, -1) }), invalidGrant);
    expectAnswer(await token(form), 200, tokenResponse);
  });
});
