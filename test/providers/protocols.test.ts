import { describe, expect, test } from '@jest/globals';
import * as v from 'valibot';
import { parametersOf } from '../../lib/providers/parameters.ts';
import { protocol } from '../../lib/providers/protocol.ts';
import { providerIds } from '../../lib/providers/provider-ids.ts';
import { protocolOf } from '../../lib/providers/providers.ts';
import { forbidden, required } from '../../lib/schema/form-parameters.ts';

test('each provider has the protocol and the parameters that the interface gives it', () => {
  const oauth2 = ['OAuth 2.0', ['access_token'], [], ['access_secret', 'id_token', 'nonce']];
  const table = providerIds.map((id) => [id, [protocolOf(id).title, ...Object.values(parametersOf(id))]]);
  expect(Object.fromEntries(table)).toEqual({
    provider_a: oauth2,
    provider_b: oauth2,
    provider_c: ['OAuth 1.0', ['access_token', 'access_secret'], [], ['id_token', 'nonce']],
    provider_d: oauth2,
    provider_e: oauth2,
    provider_f: ['OpenID Connect', ['id_token'], ['access_token', 'nonce'], ['access_secret']],
  });
});

describe('a new protocol', () => {
  const assertions = protocol({
    name: 'assertions',
    title: 'Assertions',
    settings: v.strictObject({ trusted: v.array(v.string()) }),
    merge: (settings) => ({ settings }),
    parameters: {
      assertion: required('assertion'),
      id_token: forbidden('id_token', 'for assertions'),
    },
    verify: async ({ trusted }, { assertion }) => ({
      namespace: 'assertions',
      subject: trusted.find((subject) => subject === assertion) ?? '',
    }),
    check: () => [],
  });
  const before = { grant_type: v.literal('provider_credentials') };
  const request = v.variant('provider', [
    assertions.form('provider_a', before, {}),
    ...providerIds.slice(1).map((id) => protocolOf(id).form(id, before, {})),
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
