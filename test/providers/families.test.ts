import { describe, expect, test } from '@jest/globals';
import * as v from 'valibot';
import { family } from '../../lib/providers/family.ts';
import { parametersOf } from '../../lib/providers/parameters.ts';
import { protocols } from '../../lib/providers/protocols.ts';
import { providerIds } from '../../lib/providers/provider-ids.ts';
import { familyOf } from '../../lib/providers/providers.ts';
import { forbidden, required } from '../../lib/schema/form-parameters.ts';

test('each provider has the family and the parameters that the interface gives it', () => {
  const oauth2 = ['OAuth 2.0', ['access_token'], [], ['access_secret', 'id_token', 'nonce']];
  const table = providerIds.map((id) => [id, [protocols[id].title, ...Object.values(parametersOf(id))]]);
  expect(Object.fromEntries(table)).toEqual({
    provider_a: oauth2,
    provider_b: oauth2,
    provider_c: ['OAuth 1.0', ['access_token', 'access_secret'], [], ['id_token', 'nonce']],
    provider_d: oauth2,
    provider_e: oauth2,
    provider_f: ['OpenID Connect', ['id_token'], ['access_token', 'nonce'], ['access_secret']],
  });
});

describe('a new family, of a protocol of its own', () => {
  const assertions = family(
    { name: 'assertions', settings: v.strictObject({ trusted: v.array(v.string()) }) },
    {
      parameters: {
        assertion: required('assertion'),
        id_token: forbidden('id_token', 'for assertions'),
      },
      verify: async ({ trusted }, { assertion }) => ({
        namespace: 'assertions',
        subject: trusted.find((subject) => subject === assertion) ?? '',
      }),
      check: () => [],
    },
  );
  const request = v.variant('provider', [
    assertions.credentialOf('provider_a'),
    ...providerIds.slice(1).map((id) => familyOf(id).credentialOf(id)),
  ]);
  const form = { grant_type: 'provider_credentials', provider: 'provider_a', assertion: 'alice' };

  test('has its parameters in the grant, beside the other providers', () => {
    expect(v.parse(request, form)).toMatchObject({ provider: 'provider_a' });
    const other = { grant_type: 'provider_credentials', provider: 'provider_d', access_token: 'token' };
    expect(v.parse(request, other)).toMatchObject({ provider: 'provider_d' });
  });

  test.each<[string, object]>([
    ['The parameter assertion is required.', { assertion: undefined }],
    ['The parameter id_token must not be supplied for assertions.', { id_token: 'x' }],
  ])('%s', (message, change) => {
    const { issues = [] } = v.safeParse(request, JSON.parse(JSON.stringify({ ...form, ...change })));
    expect(issues.map((issue) => issue.message)).toEqual([message]);
  });
});
