import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { applyPreset } from '../../lib/providers/apply-preset.ts';
import { checkSettings } from '../../lib/providers/check-settings.ts';
import { type ProviderId, providerIds } from '../../lib/providers/identifiers.ts';
import { type Preset, type PresetOptions, presetNames, presets } from '../../lib/providers/presets.ts';
import { type FamilyName, providers } from '../../lib/providers/providers.ts';

const options: PresetOptions = {
  appIds: ['our-app'],
  appSecret: 'our secret',
  tenant: '9188040d-6c67-4c5b-b112-36a304b66dad',
};
const withCode = { ...options, redirectUri: 'https://app.example/callback' };

const fitting = presetNames.flatMap((name) => {
  const preset: Preset = presets[name];
  return providerIds
    .filter((provider) => preset.settings[providers[provider].name])
    .map((provider) => [name, provider] as const);
});

describe('a preset', () => {
  test.each(fitting)('%s for %s: makes settings that are taken', (name, provider) => {
    const applied = applyPreset(name, provider, options);
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
        client_secret: 'our secret',
        redirect_uri: withCode.redirectUri,
      });
      expect(checkSettings(provider, settings)).toHaveProperty('settings');
    },
  );

  test.each(fitting)('%s for %s: calls https addresses of the provider alone', (name, provider) => {
    const { settings } = Object(applyPreset(name, provider, withCode));
    const addresses = JSON.stringify(settings).match(/\w+:\/\/[^"/]+/g) ?? [];
    const own = [...hosts[name], 'app.example'].map((host) => `https://${host}`);
    expect(addresses.filter((address) => !own.includes(address))).toEqual([]);
  });

  test.each(presetNames)(
    "%s: its documentation is the provider's own, and the page about providers has it",
    (name) => {
      const page = readFileSync('docs/providers.md', 'utf8');
      for (const link of presets[name].documentation) {
        expect(documentationHosts[name]).toContain(new URL(link).host);
        expect(page).toContain(`(${link})`);
      }
    },
  );
});

describe('a preset is refused', () => {
  const families: Record<FamilyName, ProviderId> = {
    oauth1: 'provider_c',
    oauth2: 'provider_a',
    oidc: 'provider_f',
  };

  test('for a provider of another family', () => {
    expect(applyPreset('apple', families.oauth2, options)).toEqual({
      problems: ['the preset apple is for a provider of the family oidc, and provider_a is oauth2'],
    });
    expect(applyPreset('google', families.oauth1, options)).toEqual({
      problems: [
        'the preset google is for a provider of the family oidc or oauth2, and provider_c is oauth1',
      ],
    });
  });

  test('without what it needs, each named', () => {
    const nothing = { appIds: [], appSecret: '' };
    expect(applyPreset('facebook', families.oauth2, nothing)).toEqual({
      problems: ['--app-id is missing', '--app-secret is needed for the preset facebook'],
    });
    expect(applyPreset('google', families.oidc, nothing)).toEqual({ problems: ['--app-id is missing'] });
  });

  test('for the exchange of codes without a secret', () => {
    expect(applyPreset('google', 'provider_b', { ...withCode, appSecret: '' })).toEqual({
      problems: ['--app-secret is needed for the preset google'],
    });
  });

  test.each(['facebook', 'github', 'twitter'] as const)('%s: with several app ids and one secret', (name) => {
    const provider = name === 'twitter' ? families.oauth1 : families.oauth2;
    expect(applyPreset(name, provider, { ...options, appIds: ['ios', 'android'] })).toEqual({
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

/** Where the calls of each preset go. */
const hosts = {
  facebook: ['graph.facebook.com'],
  google: ['accounts.google.com', 'openidconnect.googleapis.com', 'oauth2.googleapis.com'],
  twitter: ['api.x.com'],
  github: ['api.github.com', 'github.com'],
  line: ['api.line.me'],
  apple: ['appleid.apple.com'],
  microsoft: ['login.microsoftonline.com'],
};

const documentationHosts = {
  facebook: ['developers.facebook.com'],
  google: ['developers.google.com', 'docs.cloud.google.com'],
  twitter: ['docs.x.com'],
  github: ['docs.github.com'],
  line: ['developers.line.biz'],
  apple: ['developer.apple.com'],
  microsoft: ['learn.microsoft.com'],
};
