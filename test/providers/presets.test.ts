import { readFileSync } from 'node:fs';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { applyPreset } from '../../lib/providers/presets/apply.ts';
import { keysAddressOf } from '../../lib/providers/presets/companies.ts';
import {
  type Preset,
  type PresetOptions,
  presetNames,
  presets,
} from '../../lib/providers/presets/presets.ts';
import {
  type ProtocolName,
  type ProviderId,
  protocolNames,
  providerIds,
} from '../../lib/providers/provider-ids.ts';
import { checkSettings, mergeSettings } from '../../lib/providers/settings/merge.ts';
import { privateKey } from '../support/provider-stand-in.ts';

const options: PresetOptions = {
  'app-id': ['our-app'],
  'app-secret': privateKey,
  'redirect-uri': [],
  tenant: '9188040d-6c67-4c5b-b112-36a304b66dad',
  'team-id': 'our-team',
  'key-id': 'our-key',
  issuer: 'https://accounts.example',
  'jwks-uri': 'https://accounts.example/keys',
};
const redirectUris = ['https://app.example/callback', 'app.example:/callback'];
const withCode = { ...options, 'redirect-uri': redirectUris };

const fitting = presetNames.flatMap((name) => {
  const preset: Preset = presets[name];
  return providerIds
    .filter((provider) => preset[protocolNames[provider]] || (provider === 'provider_b' && preset.codes))
    .map((provider) => [name, provider] as const);
});

describe('a preset', () => {
  test.each(fitting)('%s for %s: makes valid settings', (name, provider) => {
    // X redeems no code without a redirect URI.
    const applied = applyPreset(name, provider, name === 'x' ? withCode : options);
    expect(applied).toEqual({ settings: expect.any(Object) });
    const { settings } = Object(applied);
    expect(checkSettings(provider, settings)).toMatchObject({ settings });
  });

  test.each(fitting.filter(([, provider]) => provider === 'provider_b'))(
    '%s for %s: with the exchange of authorization codes where a redirect URI is given',
    (name, provider) => {
      const { settings } = Object(applyPreset(name, provider, withCode));
      expect(settings.authorization_code).toMatchObject({
        client_id: 'our-app',
        redirect_uris: redirectUris,
      });
      const secret = name === 'apple' ? 'client_secret_jwt' : 'client_secret';
      expect(settings.authorization_code).toHaveProperty(secret);
      expect(checkSettings(provider, settings)).toHaveProperty('settings');
    },
  );

  test.each(fitting.filter(([, provider]) => provider === 'provider_b'))(
    '%s for %s: the user info, or the id token where there is none, has the namespace that is named',
    (name, provider) => {
      const { settings } = Object(applyPreset(name, provider, { ...withCode, namespace: 'our-people' }));
      const voucher = settings.user_info ? settings : settings.authorization_code.id_token;
      expect(voucher.namespace).toBe('our-people');
      expect(checkSettings(provider, settings)).toMatchObject({ settings });
    },
  );

  test.each(presetNames)('%s: the page about providers links its documentation', (name) => {
    const row = new RegExp(`^\\| \`${name}\` \\|.*\\]\\(https://[^)]+\\)`, 'm');
    expect(readFileSync('docs/providers.md', 'utf8')).toMatch(row);
  });
});

describe('an issuer that was set by a preset before presets named its keys', () => {
  const issuers = presetNames
    .filter((name) => 'oidc' in presets[name])
    .map((name) => Object(applyPreset(name, 'provider_f', options)).settings.issuers[0]);

  test.each(issuers)(
    '$issuer: its keys are where the preset says, or on its host',
    ({ issuer, jwks_uri }) => {
      const address = keysAddressOf({ issuer });
      if (new URL(issuer).host === new URL(jwks_uri).host) expect([jwks_uri, undefined]).toContain(address);
      else expect(address).toBe(jwks_uri);
    },
  );
});

describe('a preset is an error', () => {
  const families: Record<ProtocolName, ProviderId> = {
    oauth1: 'provider_c',
    oauth2: 'provider_a',
    oidc: 'provider_f',
  };

  test('for a provider of another family', () => {
    expect(applyPreset('apple', families.oauth2, options)).toEqual({
      problems: [
        'the preset apple is for a provider of the family oidc, or for authorization codes of provider_b, and provider_a is oauth2',
      ],
    });
    expect(applyPreset('google', families.oauth1, options)).toEqual({
      problems: [
        'the preset google is for a provider of the family oidc or oauth2, and provider_c is oauth1',
      ],
    });
    expect(applyPreset('x', families.oauth2, withCode)).toEqual({
      problems: ['the preset x is for authorization codes of provider_b, and provider_a is oauth2'],
    });
  });

  test('without what it needs, each named', () => {
    const nothing = { 'app-id': [], 'redirect-uri': [] };
    expect(applyPreset('facebook', families.oauth2, nothing)).toEqual({
      problems: ['--app-id is missing', '--app-secret-file is needed for the preset facebook'],
    });
    expect(applyPreset('apple', 'provider_b', { ...nothing, 'app-id': ['our-app'] })).toEqual({
      problems: ['app-secret-file', 'team-id', 'key-id'].map(
        (flag) => `--${flag} is needed for the preset apple`,
      ),
    });
    expect(applyPreset('google', families.oidc, nothing)).toEqual({ problems: ['--app-id is missing'] });
    expect(applyPreset('x', 'provider_b', { ...nothing, 'app-id': ['our-app'] })).toEqual({
      problems: ['app-secret-file', 'redirect-uri'].map((flag) => `--${flag} is needed for the preset x`),
    });
    expect(applyPreset('oidc', families.oidc, { ...nothing, 'app-id': ['our-app'] })).toEqual({
      problems: ['--issuer is needed for the preset oidc'],
    });
  });

  test.each(['facebook', 'github', 'twitter'] as const)('%s: with several app ids and one secret', (name) => {
    const provider = name === 'twitter' ? families.oauth1 : families.oauth2;
    expect(applyPreset(name, provider, { ...options, 'app-id': ['ios', 'android'] })).toEqual({
      problems: [`the preset ${name} takes one --app-id: the secret belongs to it`],
    });
  });

  test.each([undefined, 'common', 'organizations', 'consumers', 'contoso.onmicrosoft.com'])(
    'microsoft: with the tenant %s',
    (tenant) => {
      expect(applyPreset('microsoft', families.oidc, { ...options, tenant })).toEqual({
        problems: [
          '--tenant must be the id of the directory, a GUID: common issuers vouch for any directory',
        ],
      });
    },
  );
});

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
    const given = { settings: oidc({}), named: {} };
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
