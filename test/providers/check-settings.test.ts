import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { checkSettings, mergeSettings } from '../../lib/providers/settings/merge.ts';

const oidc = (change: object) => ({
  issuers: [{ issuer: 'https://provider.example', audiences: ['com.example.app', 'web'], ...change }],
});
describe('an address on this machine', () => {
  const { LOOPBACK_PROVIDERS } = process.env;
  const local = oidc({ issuer: 'http://127.0.0.1:4000' });

  beforeEach(() => {
    delete process.env.LOOPBACK_PROVIDERS;
  });
  afterAll(() => {
    if (LOOPBACK_PROVIDERS !== undefined) process.env.LOOPBACK_PROVIDERS = LOOPBACK_PROVIDERS;
  });

  test.each([
    'https://127.0.0.1/x',
    'https://2130706433/x',
    'https://0x7f.1/x',
    'https://10.0.0.1/x',
    'https://[::1]/x',
    'https://[::ffff:127.0.0.1]/x',
    'https://localhost/x',
    'https://LOCALHOST./x',
    'https://login.localhost/x',
    'https://localhost.localdomain/x',
    'https://localhost../x',
    'https://localhost4/x',
    'https://localhost6.localdomain6/x',
    'https://loopback/x',
    'https://ipv6-loopback./x',
    'https://ip6-loopback/x',
  ])('is an error in a deployment: %s', (address) => {
    for (const change of [{ issuer: address }, { jwks_uri: address }])
      expect(checkSettings('provider_f', oidc(change))).toHaveProperty('problems');
  });

  test.each(['https://localhost.example', 'https://10.example', 'https://mylocalhost'])(
    'is not %s',
    (issuer) => {
      expect(checkSettings('provider_f', oidc({ issuer }))).toHaveProperty('settings');
    },
  );

  test('that is stored from before keeps a preset from replacing the other issuers', () => {
    const given = { settings: oidc({}), isPreset: true };
    expect(mergeSettings('provider_f', given, oidc({ issuer: 'https://10.0.0.1' }))).toEqual({
      problems: ['the stored issuers are no longer valid; give all with --settings'],
    });
  });

  test('is an error in a deployment, and allowed on a development machine alone', () => {
    expect(checkSettings('provider_f', local)).toHaveProperty('problems');
    process.env.LOOPBACK_PROVIDERS = 'allowed';
    expect(checkSettings('provider_f', local)).toHaveProperty('settings');
    const elsewhere = oidc({ issuer: 'http://127.0.0.1.example' });
    expect(checkSettings('provider_f', elsewhere)).toHaveProperty('problems');
  });
});
