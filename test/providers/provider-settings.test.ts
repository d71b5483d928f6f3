import { readFileSync } from 'node:fs';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type JsonSchema, toJsonSchema } from '@valibot/to-json-schema';
import { protocolOf } from '../../lib/providers/providers.ts';
import { createLoginApp, type LoginApp } from '../support/login-app.ts';
import { flagsOf, operator } from '../support/operator.ts';
import { client_secret_jwt, startProviderStandIn } from '../support/provider-stand-in.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();
const standIn = await startProviderStandIn();
let app: LoginApp;
const withNewApp = async () => {
  app = await createLoginApp(service, unique('settings'));
};

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
const oauth2 = { user_info, audience_validation: introspection };
const oauth1 = {
  verify_url: 'https://provider.example/verify',
  consumer_key: 'us',
  consumer_secret: 'our-secret',
};
const trusted = { issuer: 'https://accounts.example', audiences: ['us', 'our-other-app'] };
const oidc = { issuers: [trusted] };

type Row = [reason: string, settings: unknown];

/** Rows about one part of the settings: the reason that names it, and what changes there. */
const inValidation = (reason: string, change: object, validation: object = introspection): Row => [
  `audience_validation.${reason}`,
  { user_info, audience_validation: { ...validation, ...change } },
];
const inJwt = (reason: string, change: object): Row => [
  `audience_validation.${reason}`,
  { audience_validation: { ...jwt, ...change } },
];
const inUserInfo = (reason: string, change: object): Row => [
  `user_info.${reason}`,
  { ...oauth2, user_info: { ...user_info, ...change } },
];
const inCode = (reason: string, change: object): Row => [
  `authorization_code.${reason}`,
  { ...oauth2, authorization_code: { ...authorization_code, ...change } },
];
const inIssuer = (reason: string, change: object): Row => [
  `issuers.0.${reason}`,
  { issuers: [{ ...trusted, ...change }] },
];
const issuersAt = (...addresses: string[]) => ({
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

const noAppIds = 'audiences: must be a list of app ids';
const oneAppId = 'audiences: must name at least one app id';
const noPem = { ...client_secret_jwt, private_key_secret: 'our-secret' };

const invalid: Record<string, Row[]> = {
  provider_a: [
    ['user_info: is missing; audience_validation: is missing', {}],
    ['audience_validation: is missing', { user_info }],
    inValidation(`method: ${noMethod}`, { method: 'trust' }),
    inUserInfo(`url: ${https}`, { url: 'https://x.example/#a' }),
    [noCodes, { ...oauth2, authorization_code }],
    [noCodes, { user_info, authorization_code }],
    inJwt(`issuer: ${https}`, { issuer: 'http://accounts.example' }),
    inJwt(oneAppId, { audiences: [] }),
    inUserInfo('subject_type: must be string or integer', { subject_type: 'number' }),
    inValidation(noAppIds, { audiences: 'us' }),
    inUserInfo(`profile.email: ${fieldName}`, { profile: { email: 'a b' } }),
  ],
  provider_b: [
    inCode('redirect_uris: must name at most 20 redirect URIs', {
      redirect_uris: redirectUris(21),
    }),
    inCode('client_secret: is missing', { client_secret: undefined }),
    inCode('client_secret: must not stand beside client_secret_jwt', { client_secret_jwt }),
    inCode(
      'client_secret_jwt.private_key_secret: must be an EC private key for ES256 in PEM form',
      {
        client_secret: undefined,
        client_secret_jwt: noPem,
      },
    ),
    ['user_info: is missing', { authorization_code }],
    [
      'audience_validation: is missing',
      { user_info, authorization_code: { ...authorization_code, id_token } },
    ],
    inCode('redirect_uris: must be a list of redirect URIs', {
      redirect_uris: 'https://app.example',
    }),
    inCode('refused_errors: must be a list of error codes', { refused_errors: null }),
    inCode('id_token.profile.email: must be text', {
      id_token: { ...id_token, profile: { email: 7 } },
    }),
  ],
  provider_c: [
    [
      `verify_url: is missing; consumer_key: is missing; consumer_secret: is missing; issuers: ${noSetting}`,
      oidc,
    ],
    ['consumer_secret: is missing', { ...oauth1, consumer_secret: undefined }],
    ['consumer_secret: must not be empty', { ...oauth1, consumer_secret: '' }],
    ['consumer_secret: must be text', { ...oauth1, consumer_secret: 7 }],
    [`subject_field: ${fieldName}`, { ...oauth1, subject_field: 'a..b' }],
  ],
  provider_d: [
    [`audience_validation: ${noMethod}`, { user_info, audience_validation: null }],
    [`audience_validation: ${noMethod}`, { user_info, audience_validation: true }],
    inValidation(oneAppId, { audiences: [] }, tokenInfo),
    inValidation('audiences.1: must be text', { audiences: ['us', 7] }, tokenInfo),
    inValidation('audiences.0: must not be empty', { audiences: [''] }, tokenInfo),
    inValidation(noAppIds, { audiences: true }, tokenInfo),
    inValidation(
      'refused_statuses: must be a list of HTTP statuses',
      { refused_statuses: 400 },
      tokenInfo,
    ),
  ],
  provider_e: [
    ['audience_validation.method: is missing', { user_info, audience_validation: {} }],
    inValidation(
      'refused_errors: must be a list of error codes',
      { refused_errors: '190' },
      tokenInfo,
    ),
  ],
  provider_f: [
    inIssuer(`issuer: ${https}`, { issuer: 'http://accounts.example' }),
    inIssuer(`audience: ${noSetting}`, { audience: ['us'] }),
    ['issuers: must name at least one issuer', { issuers: [] }],
    ['issuers: must name at most 20 issuers', issuersAt(...redirectUris(21))],
    [
      'issuers: must name each issuer once',
      issuersAt('accounts.google.com', 'https://accounts.google.com'),
    ],
    inIssuer('nonce: must be optional or required', { nonce: 'perhaps' }),
    inIssuer(`max_age_seconds: ${seconds}`, { max_age_seconds: 59 }),
    inIssuer(noAppIds, { audiences: 'ios,web' }),
    inIssuer(noAppIds, { audiences: { 0: 'ios', length: 1 } }),
    inIssuer(`profile.gender: ${onlyProfile}`, { profile: { gender: 'gender' } }),
    inIssuer('profile: must be a JSON object', { profile: null }),
    ['issuers: is missing', []],
    ['settings: must be a JSON object', null],
    ['settings: must be a JSON object', 'x'],
  ],
};

describe('invalid provider settings, with the exact reason', () => {
  beforeAll(withNewApp);
  const rows = Object.entries(invalid).flatMap(([provider, all]) =>
    all.map(([reason, settings]) => ({ provider, reason, settings })),
  );
  test.each(rows)('$provider: $reason', async ({ provider, reason, settings }) => {
    const before = await show();
    await expect(set(provider, settings)).rejects.toThrow(
      new Error(`The settings of ${provider} are invalid: ${reason}.`),
    );
    expect(await show()).toEqual(before);
  });
});

describe('valid provider settings', () => {
  beforeEach(withNewApp);
  const namespace = 'provider.example';
  const bySub = { ...user_info, subject_field: 'sub', subject_type: 'string' };
  const exchangeWith = (more: object) => ({
    authorization_code: { ...authorization_code, ...more },
  });
  const optionalNonce = { ...id_token, nonce: 'optional' };
  const byToken = { ...tokenInfo, token_parameter: 'access_token' };
  const byAppToken = { ...tokenInfo, app_token_parameter: 'app', app_token_secret: 'our-secret' };
  const byAud = { ...jwt, audience_field: 'aud' };
  test.each<[string, settings: object, defaults: object]>([
    ['provider_a', oauth2, { user_info: bySub, namespace }],
    ['provider_b', { ...oauth2, authorization_code }, {}],
    ['provider_b', { user_info, authorization_code }, { namespace }],
    ['provider_b', { ...oauth2, ...exchangeWith({ redirect_uris: redirectUris(20) }) }, {}],
    ['provider_b', exchangeWith({ id_token }), { authorization_code: { id_token: optionalNonce } }],
    ['provider_c', oauth1, { subject_field: 'id_str', namespace }],
    ['provider_d', { user_info, audience_validation: tokenInfo }, { audience_validation: byToken }],
    ['provider_e', { user_info, audience_validation: byAppToken }, {}],
    [
      'provider_d',
      { namespace: 'company', audience_validation: jwt },
      { audience_validation: byAud },
    ],
    ['provider_f', oidc, { issuers: [{ ...trusted, nonce: 'optional' }] }],
  ])(
    '%s: shown with the defaults, and with every secret masked',
    async (provider, settings, defaults) => {
      await set(provider, settings);
      const shown = Object(await show())[provider];
      expect(shown).toMatchObject(defaults);
      const masked = JSON.stringify(settings).replaceAll('our-secret', '********');
      expect(shown).toMatchObject(JSON.parse(masked));
      expect(JSON.stringify(shown)).not.toContain('our-secret');
    },
  );

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
    const others = {
      issuers: [{ issuer: 'https://others.example', audiences: ['us'], nonce: 'required' }],
    };
    await set('provider_f', others);
    expect(Object(await show()).provider_f).toEqual(others);
  });
});

describe('npm run operator providers set warns on standard error, and sets them all the same', () => {
  beforeEach(withNewApp);
  /** What it writes there, for an issuer and app ids. */
  async function warnings(issuer: string, appIds = 'us,our-other-app'): Promise<string> {
    const to = { 'login-app': app.login_app_id, provider: 'provider_f' };
    const flags = flagsOf({ ...to, preset: 'oidc', issuer, 'app-id': appIds });
    const { code, stdout, stderr } = await operator('providers', 'set', ...flags, '--local');
    const settings = { issuers: [{ issuer, audiences: appIds.split(','), nonce: 'optional' }] };
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      login_app_id: to['login-app'],
      provider: to.provider,
      settings,
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
    const odd = { ...oauth1, consumer_key: 'us\n', consumer_secret: 'a b' };
    const { warnings: found } = await set('provider_c', odd);
    expect(found).toEqual(['the app id "us\\n" contains a space. Is it right?']);
  });
});

describe('providers.md has each setting with its default, as of', () => {
  const page = readFileSync('docs/providers.md', 'utf8');
  /** Fields of which the page only says where they are: those of another table. */
  const repeated = /^(authorization_code\.id_token|issuers\[\]\.code_exchange)\b/;

  /**
   * Fields with their defaults; one of an object within stands after its path, those of a variant
   * once for each method.
   */
  function fieldsOf({ properties = {}, required = [] }: JsonSchema, path = ''): string[][] {
    return Object.entries(properties).flatMap(([name, schema]) => {
      const { items, anyOf, oneOf, default: standard, ...rest }: JsonSchema = Object(schema);
      const { properties: ofItems }: JsonSchema = Object(items);
      const objects = (ofItems && [items]) ?? anyOf ?? oneOf ?? (rest.properties && [rest]);
      const at = `${path}${name}${ofItems ? '[]' : ''}`;
      if (objects) return objects.flatMap((one) => fieldsOf(Object(one), `${at}.`));
      const text = standard === undefined ? '' : `\`${JSON.stringify(standard)}\``;
      return [[at, required.includes(name) ? 'required' : text]];
    });
  }

  test.each(['provider_a', 'provider_c', 'provider_f'] as const)('%s', (provider) => {
    const { title, settings } = protocolOf(provider);
    const [, section = ''] = page.split(`\n### ${title}\n`);
    const [table = ''] = section.split('\n#');
    const rows = [...table.matchAll(/^\| `(\S+)` \| .* \| (\S*) \|$/gm)];
    const fields = fieldsOf(toJsonSchema(settings, { typeMode: 'input', errorMode: 'ignore' }));
    const ofTable = (all: string[][]) => all.filter(([name = '']) => !repeated.test(name));
    expect(ofTable(rows.map(([, ...cells]) => cells))).toEqual(ofTable(fields));
  });
});
