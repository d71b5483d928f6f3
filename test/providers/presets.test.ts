import { readFileSync } from 'node:fs';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { keysAddressOf } from '../../lib/providers/jwt/known-issuers.ts';
import {
  type ProtocolName,
  type ProviderId,
  protocolNames,
  providerIds,
} from '../../lib/providers/provider-ids.ts';
import { applyPreset } from '../../lib/providers/set-up/apply-preset.ts';
import { checkSettings, mergeSettings } from '../../lib/providers/set-up/merge.ts';
import {
  type Preset,
  type PresetName,
  type PresetOptions,
  presetNames,
  presets,
} from '../../lib/providers/set-up/presets.ts';
import { settingsOf } from '../../lib/providers/stored/settings-of.ts';
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
    .filter(
      (provider) => preset[protocolNames[provider]] || (provider === 'provider_b' && preset.codes),
    )
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

  const forCodes = fitting.filter(([, provider]) => provider === 'provider_b');
  test.each(forCodes)(
    '%s for %s: with the exchange of codes, and a namespace that is named',
    (name, provider) => {
      const { settings } = Object(
        applyPreset(name, provider, { ...withCode, namespace: 'our-people' }),
      );
      const { user_info, authorization_code } = settings;
      expect(authorization_code).toMatchObject({
        client_id: 'our-app',
        redirect_uris: redirectUris,
      });
      expect(authorization_code).toHaveProperty(
        name === 'apple' ? 'client_secret_jwt' : 'client_secret',
      );
      // That of the user info, or of the id token where there is none.
      expect((user_info ? settings : authorization_code.id_token).namespace).toBe('our-people');
      // Each tenant of Microsoft has a namespace of its own.
      const expected =
        name === 'microsoft-any'
          ? { problems: [expect.stringContaining('can have no namespace')] }
          : { settings };
      expect(checkSettings(provider, settings)).toMatchObject(expected);
    },
  );

  const kept = { ...withCode, 'keep-tokens': true } as const;
  test.each(
    fitting.filter(
      ([name, provider]) =>
        provider === 'provider_b' ||
        (provider === 'provider_f' && name !== 'oidc' && name !== 'facebook-limited'),
    ),
  )('%s for %s: with --keep-tokens, the settings keep tokens', (name, provider) => {
    const { settings } = Object(applyPreset(name, provider, kept));
    expect(settingsOf(provider).keepers(settings)).toHaveLength(1);
    expect(checkSettings(provider, settings)).toMatchObject({ settings });
    const without = Object(applyPreset(name, provider, withCode)).settings;
    expect(settingsOf(provider).keepers(without)).toEqual([]);
  });

  test.each(presetNames)('%s: the page about providers links its documentation', (name) => {
    const lines = readFileSync('docs/providers.md', 'utf8').split('\n');
    const rows = lines.filter((line) => line.startsWith(`| \`${name}\` |`));
    expect(rows).toContainEqual(expect.stringMatching(/\]\(https:\/\/[^)]+\)/));
  });
});

describe('an issuer that was set by a preset before presets named its keys', () => {
  const issuers = presetNames
    .filter((name) => 'oidc' in presets[name])
    .map((name) => Object(applyPreset(name, 'provider_f', options)).settings.issuers[0]);

  test.each(issuers)('$issuer: its keys are where the preset says, or on its host', (one) => {
    const { issuer, jwks_uri } = one;
    const address = keysAddressOf({ issuer });
    if (new URL(issuer).host === new URL(jwks_uri).host)
      expect([jwks_uri, undefined]).toContain(address);
    else expect(address).toBe(jwks_uri);
  });
});

describe('a preset is an error', () => {
  const families: Record<ProtocolName, ProviderId> = {
    oauth1: 'provider_c',
    oauth2: 'provider_a',
    oidc: 'provider_f',
  };

  const problemsOf = (name: PresetName, provider: ProviderId, given = options) =>
    Object(applyPreset(name, provider, given)).problems;

  test('for a provider of another family', () => {
    expect(problemsOf('apple', families.oauth2)).toEqual([
      'the preset apple is not for provider_a, which is oauth2',
    ]);
    expect(problemsOf('google', families.oauth1)).toEqual([
      'the preset google is not for provider_c, which is oauth1',
    ]);
    expect(problemsOf('x', families.oauth2, withCode)).toEqual([
      'the preset x is not for provider_a, which is oauth2',
    ]);
  });

  test('without what it needs, each named', () => {
    const nothing = { 'app-id': [], 'redirect-uri': [] };
    const needed = (name: string, ...flags: string[]) =>
      flags.map((flag) => `--${flag} is needed for the preset ${name}`);
    const noId = '--app-id is missing';
    const ofFacebook = [noId, ...needed('facebook', 'app-secret-file')];
    expect(problemsOf('facebook', families.oauth2, nothing)).toEqual(ofFacebook);
    expect(problemsOf('google', families.oidc, nothing)).toEqual([noId]);
    const idAlone = { ...nothing, 'app-id': ['our-app'] };
    const ofApple = needed('apple', 'app-secret-file', 'team-id', 'key-id');
    expect(problemsOf('apple', 'provider_b', idAlone)).toEqual(ofApple);
    expect(problemsOf('x', 'provider_b', idAlone)).toEqual(
      needed('x', 'app-secret-file', 'redirect-uri'),
    );
    expect(problemsOf('oidc', families.oidc, idAlone)).toEqual(needed('oidc', 'issuer'));
  });

  test('with --keep-tokens where no codes are exchanged, or without what that needs', () => {
    const keep = { ...options, 'keep-tokens': true } as const;
    for (const [name, provider] of [
      ['oidc', 'provider_f'],
      ['facebook-limited', 'provider_f'],
      ['twitter', 'provider_c'],
    ] as const)
      expect(problemsOf(name, provider, keep)).toEqual([
        `the preset ${name} exchanges no codes for ${provider}: there is nothing to keep`,
      ]);
    const { 'app-secret': _, ...withoutSecret } = keep;
    expect(problemsOf('google', 'provider_f', withoutSecret)).toEqual([
      '--app-secret-file is needed for the preset google',
    ]);
    expect(problemsOf('github', 'provider_b', keep)).toEqual([
      '--redirect-uri is needed for the preset github',
    ]);
  });

  test.each(['facebook', 'github', 'twitter'] as const)(
    '%s: with several app ids and one secret',
    (name) => {
      const provider = name === 'twitter' ? families.oauth1 : families.oauth2;
      const problem = `the preset ${name} takes one --app-id: the secret belongs to it`;
      expect(problemsOf(name, provider, { ...options, 'app-id': ['ios', 'android'] })).toEqual([
        problem,
      ]);
    },
  );

  const tenants = [undefined, 'common', 'organizations', 'consumers', 'contoso.onmicrosoft.com'];
  test.each(tenants)('microsoft: with the tenant %s', (tenant) => {
    expect(problemsOf('microsoft', families.oidc, { ...options, tenant })).toEqual([
      '--tenant must be the id of the directory, a GUID: for people of any directory, use the preset microsoft-any',
    ]);
  });
});

const oidc = (change: object) => ({
  issuers: [
    { issuer: 'https://provider.example', audiences: ['com.example.app', 'web'], ...change },
  ],
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
    'not %s',
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
