import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { checkSettings } from '../../lib/providers/check-settings.ts';
import type { ProviderId } from '../../lib/providers/identifiers.ts';

const userInfo = { url: 'https://provider.example/me' };
const introspection = {
  method: 'introspection',
  url: 'https://provider.example/introspect',
  client_id: 'our-app',
  client_secret: 'secret',
  audiences: ['our-app'],
};
const tokenInfo = {
  method: 'token_info',
  url: 'https://provider.example/tokeninfo',
  audience_field: 'aud',
  audiences: ['our-ios-app', 'our-android-app'],
};
const oauth2 = { user_info: userInfo, app_check: introspection };
const code = {
  token_url: 'https://provider.example/token',
  client_id: 'our-app',
  client_secret: 'secret',
  redirect_uri: 'https://app.example/callback',
};
const oauth1 = {
  verify_url: 'https://provider.example/verify',
  consumer_key: 'key',
  consumer_secret: 'secret',
};
const oidc = { issuer: 'https://provider.example', audiences: ['com.example.app', 'web', 'android'] };

describe('settings that are taken', () => {
  test.each<[ProviderId, string, object]>([
    ['provider_a', 'introspection', oauth2],
    ['provider_b', 'with the code exchange', { ...oauth2, authorization_code: code }],
    ['provider_d', 'token info for several apps', { user_info: userInfo, app_check: tokenInfo }],
    ['provider_c', 'OAuth 1.0', oauth1],
    ['provider_f', 'OIDC for several apps', oidc],
  ])('%s, %s', (provider, _, settings) => {
    expect(checkSettings(provider, settings)).toMatchObject({ settings });
  });
});

describe('settings that are refused, and why', () => {
  const list = 'must be a list of app ids';
  const method =
    'must say by which method (introspection or token_info) a token of another app is told from ours';
  const address = 'must be an https address, without user, password or fragment';

  test.each<[ProviderId, unknown, string]>([
    ['provider_f', { ...oidc, audiences: 'com.example.app' }, `audiences: ${list}`],
    ['provider_f', { ...oidc, audiences: { 0: 'com.example.app' } }, `audiences: ${list}`],
    ['provider_f', { ...oidc, audiences: [] }, 'audiences: must name at least one app id'],
    ['provider_f', { ...oidc, audiences: [''] }, 'audiences.0: must not be empty'],
    ['provider_f', { ...oidc, audiences: [['web']] }, 'audiences.0: must be text'],
    ['provider_f', { issuer: oidc.issuer }, 'audiences: is missing'],
    [
      'provider_f',
      { ...oidc, jwks_uri: 'https://provider.example' },
      'jwks_uri: is not a setting of this provider',
    ],
    [
      'provider_a',
      { ...oauth2, app_check: { ...introspection, audiences: 'our-app' } },
      `app_check.audiences: ${list}`,
    ],
    [
      'provider_d',
      { user_info: userInfo, app_check: { ...tokenInfo, audiences: 'our-app' } },
      `app_check.audiences: ${list}`,
    ],
    [
      'provider_d',
      { user_info: userInfo, app_check: { ...tokenInfo, refused_statuses: 400 } },
      'app_check.refused_statuses: must be a list of HTTP statuses',
    ],
    [
      'provider_b',
      { ...oauth2, authorization_code: { ...code, refused_errors: 'invalid_grant' } },
      'authorization_code.refused_errors: must be a list of error codes',
    ],
    ['provider_a', { user_info: userInfo }, 'app_check: is missing'],
    [
      'provider_a',
      { ...oauth2, app_check: { ...introspection, method: 'none' } },
      `app_check.method: ${method}`,
    ],
    ['provider_a', { ...oauth2, app_check: {} }, 'app_check.method: is missing'],
    [
      'provider_a',
      { ...oauth2, authorization_code: code },
      'authorization_code: only provider_b exchanges authorization codes',
    ],
    [
      'provider_a',
      { ...oauth2, user_info: { url: 'http://provider.example/me' } },
      `user_info.url: ${address}`,
    ],
    [
      'provider_a',
      { ...oauth2, user_info: { url: 'https://me:secret@provider.example' } },
      `user_info.url: ${address}`,
    ],
    ['provider_a', { ...oauth2, user_info: { url: 'provider.example' } }, `user_info.url: ${address}`],
    [
      'provider_a',
      { ...oauth2, user_info: { ...userInfo, subject_field: 'data..id' } },
      'user_info.subject_field: must be a field name, or names joined by dots',
    ],
    ['provider_c', { ...oauth1, consumer_secret: '' }, 'consumer_secret: must not be empty'],
    ['provider_c', oidc, 'verify_url: is missing'],
    ['provider_f', null, 'settings: must be a JSON object'],
    ['provider_f', 'google', 'settings: must be a JSON object'],
  ])('%s: %j', (provider, settings, problem) => {
    expect(checkSettings(provider, settings)).toEqual({ problems: expect.arrayContaining([problem]) });
  });
});

describe('an address on this machine', () => {
  const { LOOPBACK_PROVIDERS } = process.env;
  const local = { ...oidc, issuer: 'http://127.0.0.1:4000' };

  beforeAll(() => {
    delete process.env.LOOPBACK_PROVIDERS;
  });
  afterAll(() => {
    if (LOOPBACK_PROVIDERS !== undefined) process.env.LOOPBACK_PROVIDERS = LOOPBACK_PROVIDERS;
  });

  test('is refused in a deployment, and taken on a development machine alone', () => {
    expect(checkSettings('provider_f', local)).toHaveProperty('problems');
    process.env.LOOPBACK_PROVIDERS = 'allowed';
    expect(checkSettings('provider_f', local)).toHaveProperty('settings');
    expect(checkSettings('provider_f', { ...oidc, issuer: 'http://127.0.0.1.example' })).toHaveProperty(
      'problems',
    );
  });
});
