import { generateKeyPairSync } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { createLoginApp, type LoginApp } from '../support/login-app.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();
let app: LoginApp;

beforeAll(async () => {
  app = await createLoginApp(service, unique('settings'));
});

const set = (provider: string, settings: unknown) => service.setProvider(app, provider, settings);

const show = async (): Promise<unknown> =>
  (await service.operate('providers', 'show', { 'login-app': app.login_app_id })).providers;

const user_info = { url: 'https://provider.example/me' };
const introspection = {
  method: 'introspection',
  url: 'https://provider.example/introspect',
  client_id: 'us',
  client_secret: 'our-secret',
  audiences: ['us'],
};
const tokenInfo = {
  method: 'token_info',
  url: 'https://provider.example/token-info',
  audience_field: 'aud',
  audiences: ['us'],
};
const jwt = { method: 'jwt', issuer: 'https://accounts.example', audiences: ['us'] };
const authorization_code = {
  token_url: 'https://provider.example/token',
  client_id: 'us',
  client_secret: 'our-secret',
  redirect_uris: ['https://app.example/callback'],
};
const redirectUris = (count: number) =>
  Array.from({ length: count }, (_, index) => `https://app.example/${index}`);
const id_token = { issuer: 'https://accounts.example' };
const client_secret_jwt = {
  team_id: 'our-team',
  key_id: 'our-key',
  private_key_secret: generateKeyPairSync('ec', {
    namedCurve: 'prime256v1',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  }).privateKey,
};
const oauth2 = { user_info, audience_validation: introspection };
const oauth1 = {
  verify_url: 'https://provider.example/verify',
  consumer_key: 'us',
  consumer_secret: 'our-secret',
};
const trusted = { issuer: 'https://accounts.example', audiences: ['us', 'our-other-app'] };
const oidc = { issuers: [trusted] };

const noMethod =
  'audience_validation: must say by which method (introspection, token_info or jwt) the audience of a token is validated';
const https = 'must be an https address, without user, password or fragment';
const noSetting = 'is not a setting of this provider';

describe('invalid provider settings, with the exact reason', () => {
  test.each<[string, string, unknown, string]>([
    ['nothing', 'provider_a', {}, 'user_info: is missing; audience_validation: is missing'],
    ['no audience validation', 'provider_a', { user_info }, 'audience_validation: is missing'],
    ['audience validation that is null', 'provider_d', { user_info, audience_validation: null }, noMethod],
    ['audience validation that is true', 'provider_d', { user_info, audience_validation: true }, noMethod],
    [
      'audience validation without a method',
      'provider_e',
      { user_info, audience_validation: {} },
      'audience_validation.method: is missing',
    ],
    [
      'an unknown method',
      'provider_a',
      { user_info, audience_validation: { ...introspection, method: 'trust' } },
      noMethod.replace('audience_validation', 'audience_validation.method'),
    ],
    [
      'audiences as text',
      'provider_a',
      { user_info, audience_validation: { ...introspection, audiences: 'us' } },
      'audience_validation.audiences: must be a list of app ids',
    ],
    [
      'no audience',
      'provider_d',
      { user_info, audience_validation: { ...tokenInfo, audiences: [] } },
      'audience_validation.audiences: must name at least one app id',
    ],
    [
      'an audience that is a number',
      'provider_d',
      { user_info, audience_validation: { ...tokenInfo, audiences: ['us', 7] } },
      'audience_validation.audiences.1: must be text',
    ],
    [
      'an empty audience',
      'provider_d',
      { user_info, audience_validation: { ...tokenInfo, audiences: [''] } },
      'audience_validation.audiences.0: must not be empty',
    ],
    [
      'an http address',
      'provider_a',
      { ...oauth2, user_info: { url: 'http://provider.example/me' } },
      `user_info.url: ${https}`,
    ],
    [
      'an address with a password',
      'provider_a',
      { ...oauth2, user_info: { url: 'https://a:b@x.example' } },
      `user_info.url: ${https}`,
    ],
    [
      'an address with a fragment',
      'provider_a',
      { ...oauth2, user_info: { url: 'https://x.example/#a' } },
      `user_info.url: ${https}`,
    ],
    [
      'a file as address',
      'provider_a',
      { ...oauth2, user_info: { url: 'file:///etc/passwd' } },
      `user_info.url: ${https}`,
    ],
    [
      'an address that is none',
      'provider_c',
      { ...oauth1, verify_url: 'provider.example' },
      `verify_url: ${https}`,
    ],
    [
      'an http issuer',
      'provider_f',
      { issuers: [{ ...trusted, issuer: 'http://accounts.example' }] },
      `issuers.0.issuer: ${https}`,
    ],
    [
      'a misspelt name',
      'provider_f',
      { issuers: [{ ...trusted, audience: ['us'] }] },
      `issuers.0.audience: ${noSetting}`,
    ],
    ['no issuer', 'provider_f', { issuers: [] }, 'issuers: must name at least one issuer'],
    [
      'too many issuers',
      'provider_f',
      { issuers: Array.from({ length: 21 }, (_, i) => ({ ...trusted, issuer: `https://${i}.example` })) },
      'issuers: must name at most 20 issuers',
    ],
    [
      'an issuer in both of its spellings',
      'provider_f',
      {
        issuers: ['accounts.google.com', 'https://accounts.google.com'].map((issuer) => ({
          ...trusted,
          issuer,
        })),
      },
      'issuers: must name each issuer once',
    ],
    [
      'a nonce that is perhaps required',
      'provider_f',
      { issuers: [{ ...trusted, nonce: 'perhaps' }] },
      'issuers.0.nonce: must be optional or required',
    ],
    [
      'an age that no id token may have',
      'provider_f',
      { issuers: [{ ...trusted, max_age_seconds: 59 }] },
      'issuers.0.max_age_seconds: must be an integer from 60 to 2592000',
    ],
    [
      'settings of another family',
      'provider_c',
      oidc,
      `verify_url: is missing; consumer_key: is missing; consumer_secret: is missing; issuers: ${noSetting}`,
    ],
    [
      'no consumer secret',
      'provider_c',
      { ...oauth1, consumer_secret: undefined },
      'consumer_secret: is missing',
    ],
    [
      'an empty consumer secret',
      'provider_c',
      { ...oauth1, consumer_secret: '' },
      'consumer_secret: must not be empty',
    ],
    [
      'a secret that is a number',
      'provider_c',
      { ...oauth1, consumer_secret: 7 },
      'consumer_secret: must be text',
    ],
    [
      'a field that is no path',
      'provider_c',
      { ...oauth1, subject_field: 'a..b' },
      'subject_field: must be a field name, or names joined by dots',
    ],
    [
      'a code exchange elsewhere',
      'provider_a',
      { ...oauth2, authorization_code },
      'authorization_code: only provider_b exchanges authorization codes',
    ],
    [
      'a redirect URI that is no list',
      'provider_b',
      { ...oauth2, authorization_code: { ...authorization_code, redirect_uris: 'https://app.example' } },
      'authorization_code.redirect_uris: must be a list of redirect URIs',
    ],
    [
      'too many redirect URIs',
      'provider_b',
      { ...oauth2, authorization_code: { ...authorization_code, redirect_uris: redirectUris(21) } },
      'authorization_code.redirect_uris: must name at most 20 redirect URIs',
    ],
    [
      'a code exchange without a secret',
      'provider_b',
      { ...oauth2, authorization_code: { ...authorization_code, client_secret: undefined } },
      'authorization_code.client_secret: is missing',
    ],
    [
      'a code exchange with two secrets',
      'provider_b',
      { ...oauth2, authorization_code: { ...authorization_code, client_secret_jwt } },
      'authorization_code.client_secret: must not stand beside client_secret_jwt',
    ],
    [
      'a private key that is none',
      'provider_b',
      {
        authorization_code: {
          ...authorization_code,
          client_secret: undefined,
          client_secret_jwt: { ...client_secret_jwt, private_key_secret: 'our-secret' },
          id_token,
        },
      },
      'authorization_code.client_secret_jwt.private_key_secret: must be an EC private key for ES256 in PEM form',
    ],
    [
      'an http issuer of JWTs',
      'provider_a',
      { audience_validation: { ...jwt, issuer: 'http://accounts.example' } },
      `audience_validation.issuer: ${https}`,
    ],
    [
      'JWTs without an audience',
      'provider_a',
      { audience_validation: { ...jwt, audiences: [] } },
      'audience_validation.audiences: must name at least one app id',
    ],
    ['codes alone without an id token', 'provider_b', { authorization_code }, 'user_info: is missing'],
    [
      'a user info without audience validation beside codes with id tokens',
      'provider_b',
      { user_info, authorization_code: { ...authorization_code, id_token } },
      'audience_validation: is missing',
    ],
    [
      'a code exchange in the place of audience validation where no codes are taken',
      'provider_a',
      { user_info, authorization_code },
      'authorization_code: only provider_b exchanges authorization codes',
    ],
    [
      'another type of subject',
      'provider_a',
      { ...oauth2, user_info: { ...user_info, subject_type: 'number' } },
      'user_info.subject_type: must be string or integer',
    ],
    ['a list', 'provider_f', [], 'issuers: is missing'],
    ['null', 'provider_f', null, 'settings: must be a JSON object'],
    ['text', 'provider_f', 'x', 'settings: must be a JSON object'],
  ])('%s', async (_, provider, settings, reason) => {
    const before = await show();
    await expect(set(provider, settings)).rejects.toThrow(
      new Error(`The settings of ${provider} are invalid: ${reason}.`),
    );
    expect(await show()).toEqual(before);
  });
});

describe('valid provider settings', () => {
  test.each<[string, object, object]>([
    [
      'provider_a',
      oauth2,
      {
        user_info: { ...user_info, subject_field: 'sub', subject_type: 'string' },
        namespace: 'provider.example',
      },
    ],
    ['provider_b', { ...oauth2, authorization_code }, {}],
    ['provider_b', { user_info, authorization_code }, { namespace: 'provider.example' }],
    [
      'provider_b',
      { ...oauth2, authorization_code: { ...authorization_code, redirect_uris: redirectUris(20) } },
      {},
    ],
    [
      'provider_b',
      { authorization_code: { ...authorization_code, id_token } },
      { authorization_code: { id_token: { ...id_token, nonce: 'optional' } } },
    ],
    ['provider_c', oauth1, { subject_field: 'id_str', namespace: 'provider.example' }],
    [
      'provider_d',
      { user_info, audience_validation: tokenInfo },
      { audience_validation: { ...tokenInfo, token_parameter: 'access_token' } },
    ],
    [
      'provider_e',
      {
        user_info,
        audience_validation: { ...tokenInfo, app_token_parameter: 'app', app_token_secret: 'our-secret' },
      },
      {},
    ],
    [
      'provider_d',
      { namespace: 'company', audience_validation: jwt },
      { audience_validation: { ...jwt, audience_field: 'aud' } },
    ],
    ['provider_f', oidc, { issuers: [{ ...trusted, nonce: 'optional' }] }],
  ])('%s: shown with the defaults, and with every secret masked', async (provider, settings, defaults) => {
    await set(provider, settings);
    const shown = Object(await show())[provider];
    expect(shown).toMatchObject(defaults);
    const masked = JSON.stringify(settings).replaceAll('our-secret', '********');
    expect(shown).toMatchObject(JSON.parse(masked));
    expect(JSON.stringify(shown)).not.toContain('our-secret');
  });

  test('a private key is masked too', async () => {
    const { client_secret: _, ...exchange } = authorization_code;
    await set('provider_b', { authorization_code: { ...exchange, client_secret_jwt, id_token } });
    const { provider_b } = Object(await show());
    expect(provider_b.authorization_code.client_secret_jwt).toEqual({
      ...client_secret_jwt,
      private_key_secret: '********',
    });
  });

  test('new settings take the place of the old ones', async () => {
    await set('provider_f', oidc);
    const others = { issuers: [{ issuer: 'https://others.example', audiences: ['us'], nonce: 'required' }] };
    await set('provider_f', others);
    expect(Object(await show()).provider_f).toEqual(others);
  });
});
