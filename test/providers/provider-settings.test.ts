import { generateKeyPairSync } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { createLoginApp, type LoginApp } from '../support/login-app.ts';
import { operator } from '../support/operator.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();
const standIn = await startProviderStandIn();
let app: LoginApp;

beforeEach(async () => {
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

/** Settings with one part that is another. */
const validated = (change: object, validation: object = introspection) => ({
  user_info,
  audience_validation: { ...validation, ...change },
});
const consumer = (change: object) => ({ ...oauth1, ...change });
const exchange = (change: object) => ({
  ...oauth2,
  authorization_code: { ...authorization_code, ...change },
});
const issuer = (change: object) => ({ issuers: [{ ...trusted, ...change }] });
const issuersAt = (addresses: string[]) => ({
  issuers: addresses.map((address) => ({ ...trusted, issuer: address })),
});

const noMethod =
  'must say by which method (introspection, token_info or jwt) the audience of a token is validated';
const https = 'must be an https address, without user, password or fragment';
const seconds = 'must be an integer from 60 to 2592000';
const noSetting = 'is not a setting of this provider';
const fieldName = 'must be a field name, or names joined by dots';
const onlyProfile =
  'must only have email, email_verified, name, given_name, family_name, picture, locale, phone_number, phone_number_verified';
const noCodes = 'authorization_code: only provider_b exchanges authorization codes';

describe('invalid provider settings, with the exact reason', () => {
  test.each<[provider: string, reason: string, unknown]>([
    ['provider_a', 'user_info: is missing; audience_validation: is missing', {}],
    ['provider_a', 'audience_validation: is missing', { user_info }],
    ['provider_d', `audience_validation: ${noMethod}`, { user_info, audience_validation: null }],
    ['provider_d', `audience_validation: ${noMethod}`, { user_info, audience_validation: true }],
    ['provider_e', 'audience_validation.method: is missing', { user_info, audience_validation: {} }],
    ['provider_a', `audience_validation.method: ${noMethod}`, validated({ method: 'trust' })],
    [
      'provider_d',
      'audience_validation.audiences: must name at least one app id',
      validated({ audiences: [] }, tokenInfo),
    ],
    [
      'provider_d',
      'audience_validation.audiences.1: must be text',
      validated({ audiences: ['us', 7] }, tokenInfo),
    ],
    [
      'provider_d',
      'audience_validation.audiences.0: must not be empty',
      validated({ audiences: [''] }, tokenInfo),
    ],
    ['provider_a', `user_info.url: ${https}`, { ...oauth2, user_info: { url: 'https://x.example/#a' } }],
    ['provider_f', `issuers.0.issuer: ${https}`, issuer({ issuer: 'http://accounts.example' })],
    ['provider_f', `issuers.0.audience: ${noSetting}`, issuer({ audience: ['us'] })],
    ['provider_f', 'issuers: must name at least one issuer', { issuers: [] }],
    ['provider_f', 'issuers: must name at most 20 issuers', issuersAt(redirectUris(21))],
    [
      'provider_f',
      'issuers: must name each issuer once',
      issuersAt(['accounts.google.com', 'https://accounts.google.com']),
    ],
    ['provider_f', 'issuers.0.nonce: must be optional or required', issuer({ nonce: 'perhaps' })],
    ['provider_f', `issuers.0.max_age_seconds: ${seconds}`, issuer({ max_age_seconds: 59 })],
    [
      'provider_c',
      `verify_url: is missing; consumer_key: is missing; consumer_secret: is missing; issuers: ${noSetting}`,
      oidc,
    ],
    ['provider_c', 'consumer_secret: is missing', consumer({ consumer_secret: undefined })],
    ['provider_c', 'consumer_secret: must not be empty', consumer({ consumer_secret: '' })],
    ['provider_c', 'consumer_secret: must be text', consumer({ consumer_secret: 7 })],
    ['provider_c', `subject_field: ${fieldName}`, consumer({ subject_field: 'a..b' })],
    ['provider_a', noCodes, exchange({})],
    ['provider_a', noCodes, { user_info, authorization_code }],
    [
      'provider_b',
      'authorization_code.redirect_uris: must name at most 20 redirect URIs',
      exchange({ redirect_uris: redirectUris(21) }),
    ],
    ['provider_b', 'authorization_code.client_secret: is missing', exchange({ client_secret: undefined })],
    [
      'provider_b',
      'authorization_code.client_secret: must not stand beside client_secret_jwt',
      exchange({ client_secret_jwt }),
    ],
    [
      'provider_b',
      'authorization_code.client_secret_jwt.private_key_secret: must be an EC private key for ES256 in PEM form',
      exchange({
        client_secret: undefined,
        client_secret_jwt: { ...client_secret_jwt, private_key_secret: 'our-secret' },
      }),
    ],
    [
      'provider_a',
      `audience_validation.issuer: ${https}`,
      { audience_validation: { ...jwt, issuer: 'http://accounts.example' } },
    ],
    [
      'provider_a',
      'audience_validation.audiences: must name at least one app id',
      { audience_validation: { ...jwt, audiences: [] } },
    ],
    ['provider_b', 'user_info: is missing', { authorization_code }],
    [
      'provider_b',
      'audience_validation: is missing',
      { user_info, authorization_code: { ...authorization_code, id_token } },
    ],
    [
      'provider_a',
      'user_info.subject_type: must be string or integer',
      { ...oauth2, user_info: { ...user_info, subject_type: 'number' } },
    ],
    ['provider_f', 'issuers.0.audiences: must be a list of app ids', issuer({ audiences: 'ios,web' })],
    [
      'provider_f',
      'issuers.0.audiences: must be a list of app ids',
      issuer({ audiences: { 0: 'ios', length: 1 } }),
    ],
    [
      'provider_a',
      'audience_validation.audiences: must be a list of app ids',
      validated({ audiences: 'us' }),
    ],
    [
      'provider_d',
      'audience_validation.audiences: must be a list of app ids',
      validated({ audiences: true }, tokenInfo),
    ],
    [
      'provider_d',
      'audience_validation.refused_statuses: must be a list of HTTP statuses',
      validated({ refused_statuses: 400 }, tokenInfo),
    ],
    [
      'provider_e',
      'audience_validation.refused_errors: must be a list of error codes',
      validated({ refused_errors: '190' }, tokenInfo),
    ],
    [
      'provider_b',
      'authorization_code.redirect_uris: must be a list of redirect URIs',
      exchange({ redirect_uris: 'https://app.example' }),
    ],
    [
      'provider_b',
      'authorization_code.refused_errors: must be a list of error codes',
      exchange({ refused_errors: null }),
    ],
    ['provider_f', `issuers.0.profile.gender: ${onlyProfile}`, issuer({ profile: { gender: 'gender' } })],
    ['provider_f', 'issuers.0.profile: must be a JSON object', issuer({ profile: null })],
    [
      'provider_a',
      `user_info.profile.email: ${fieldName}`,
      { ...oauth2, user_info: { ...user_info, profile: { email: 'a b' } } },
    ],
    [
      'provider_b',
      'authorization_code.id_token.profile.email: must be text',
      exchange({ id_token: { ...id_token, profile: { email: 7 } } }),
    ],
    ['provider_f', 'issuers: is missing', []],
    ['provider_f', 'settings: must be a JSON object', null],
    ['provider_f', 'settings: must be a JSON object', 'x'],
  ])('%s: %s', async (provider, reason, settings) => {
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

describe('npm run operator providers set warns on standard error, and sets them all the same', () => {
  /** What it writes there, for an issuer and app ids. */
  async function warnings(issuer: string, appIds = 'us,our-other-app'): Promise<string> {
    const { code, stdout, stderr } = await operator(
      ...['providers', 'set', '--login-app', app.login_app_id, '--provider', 'provider_f', '--local'],
      ...['--preset', 'oidc', '--issuer', issuer, '--app-id', appIds],
    );
    const settings = { issuers: [{ issuer, audiences: appIds.split(','), nonce: 'optional' }] };
    expect({ code, ...JSON.parse(stdout) }).toEqual({
      ...{ code: 0, login_app_id: app.login_app_id, provider: 'provider_f', settings },
    });
    expect(Object(await show()).provider_f).toEqual(settings);
    return stderr;
  }

  test('nothing where all is well', async () => {
    expect(await warnings(standIn.openScene().url)).toBe('');
  });

  test('when an issuer does not answer', async () => {
    const { url, answer } = standIn.openScene();
    answer('.well-known/openid-configuration', { status: 404 });
    const address = `${url}/.well-known/openid-configuration`;
    expect(await warnings(url)).toBe(
      `Warning: nobody can log in with the issuer ${url} yet. ${address} answers with status 404. Is the address right?\n`,
    );
  });

  test('when its discovery document names another issuer, as by a slash at the end', async () => {
    const { url } = standIn.openScene();
    expect(await warnings(`${url}/`)).toBe(
      `Warning: nobody can log in with the issuer ${url}/ yet. ${url}/.well-known/openid-configuration does not answer as it should (it names another issuer; a slash at the end counts).\n`,
    );
  });

  test('when an app id has a space', async () => {
    expect(await warnings(standIn.openScene().url, 'us, our-other-app')).toBe(
      'Warning: the app id " our-other-app" contains a space. Is it right?\n',
    );
    const { warnings: found } = await set(
      'provider_c',
      consumer({ consumer_key: 'us\n', consumer_secret: 'a b' }),
    );
    expect(found).toEqual(['the app id "us\\n" contains a space. Is it right?']);
  });
});
