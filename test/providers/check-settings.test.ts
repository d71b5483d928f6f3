import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { ProviderId } from '../../lib/providers/provider-ids.ts';
import { checkSettings, mergeSettings } from '../../lib/providers/settings/merge.ts';

const url = 'https://provider.example/x';
const client = { client_id: 'us', client_secret: 'our-secret' };
const oidc = (change: object) => ({
  issuers: [{ issuer: 'https://provider.example', audiences: ['com.example.app', 'web'], ...change }],
});
const introspected = (audiences: unknown) => ({
  user_info: { url },
  audience_validation: { method: 'introspection', url, ...client, audiences },
});
const tokenInfo = (fields: object) => ({
  user_info: { url },
  audience_validation: {
    method: 'token_info',
    url,
    audience_field: 'aud',
    audiences: ['ios', 'android'],
    ...fields,
  },
});
const exchanged = (fields: object) => ({
  ...introspected(['us']),
  authorization_code: { token_url: url, redirect_uris: [url], ...client, ...fields },
});

/** Every list, as a function of what stands there. */
const lists: [ProviderId, string, string, unknown[], (value: unknown) => unknown][] = [
  ['provider_f', 'issuers.0.audiences', 'app ids', ['ios', 'web'], (audiences) => oidc({ audiences })],
  [
    'provider_b',
    'authorization_code.redirect_uris',
    'redirect URIs',
    ['https://a.example', 'https://b.example'],
    (redirect_uris) => exchanged({ redirect_uris }),
  ],
  ['provider_a', 'audience_validation.audiences', 'app ids', ['ios', 'web'], introspected],
  [
    'provider_d',
    'audience_validation.audiences',
    'app ids',
    ['ios', 'web'],
    (audiences) => tokenInfo({ audiences }),
  ],
  [
    'provider_d',
    'audience_validation.refused_statuses',
    'HTTP statuses',
    [400, 404],
    (refused_statuses) => tokenInfo({ refused_statuses }),
  ],
  [
    'provider_e',
    'audience_validation.refused_errors',
    'error codes',
    ['100', '190'],
    (refused_errors) => tokenInfo({ refused_errors }),
  ],
  [
    'provider_b',
    'authorization_code.refused_errors',
    'error codes',
    ['invalid_grant', 'expired'],
    (refused_errors) => exchanged({ refused_errors }),
  ],
];

describe('a profile', () => {
  const places: [ProviderId, string, (profile: unknown) => unknown][] = [
    ['provider_f', 'issuers.0.profile', (profile) => oidc({ profile })],
    [
      'provider_a',
      'user_info.profile',
      (profile) => ({ ...introspected(['us']), user_info: { url, profile } }),
    ],
    [
      'provider_b',
      'authorization_code.id_token.profile',
      (profile) => exchanged({ id_token: { issuer: 'https://provider.example', profile } }),
    ],
  ];

  test.each(places)('%s, %s: takes our names and fields of theirs', (provider, _field, settingsWith) => {
    for (const profile of [{}, { email: 'email', picture: 'picture.data.url' }])
      expect(JSON.stringify(checkSettings(provider, settingsWith(profile)))).toContain(
        `"profile":${JSON.stringify(profile)}`,
      );
  });

  test.each(places)('%s, %s: rejects what is none', (provider, field, settingsWith) => {
    const problemsOf = (profile: unknown) => Object(checkSettings(provider, settingsWith(profile))).problems;
    const naming = `must only have email, email_verified, name, given_name, family_name, picture, locale, phone_number, phone_number_verified`;
    expect(problemsOf({ gender: 'gender' })).toEqual([`${field}.gender: ${naming}`]);
    expect(problemsOf({ email: 7 })).toEqual([`${field}.email: must be text`]);
    expect(problemsOf({ email: 'a b' })).toEqual([
      `${field}.email: must be a field name, or names joined by dots`,
    ]);
    for (const profile of ['email', null, true])
      expect(problemsOf(profile)).toEqual([`${field}: must be a JSON object`]);
  });
});

describe.each(lists)('%s: %s', (provider, field, of, several, settingsWith) => {
  test('takes several', () => {
    expect(checkSettings(provider, settingsWith(several))).toHaveProperty('settings');
  });

  test.each<[string, unknown]>([
    ['one text', 'com.example.app'],
    ['several texts in one', 'ios,web'],
    ['a number', 400],
    ['an object like a list', { 0: 'ios', length: 1 }],
    ['true', true],
    ['null', null],
  ])('rejects %s', (_, value) => {
    expect(checkSettings(provider, settingsWith(value))).toEqual({
      problems: [`${field}: must be a list of ${of}`],
    });
  });

  test('rejects a list in the list', () => {
    expect(checkSettings(provider, settingsWith([several]))).toHaveProperty('problems');
  });
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
