import { readFileSync } from 'node:fs';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type JsonSchema, toJsonSchema } from '@valibot/to-json-schema';
import { protocolOf } from '../../lib/providers/providers.ts';
import { createLoginApp, type LoginApp } from '../support/login-app.ts';
import { operator } from '../support/operator.ts';
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

/** Settings with one part that is another. */
const validated = (change: object, validation: object = introspection) => ({
  user_info,
  audience_validation: { ...validation, ...change },
});
const byJwt = (change: object) => ({ audience_validation: { ...jwt, ...change } });
const userInfo = (change: object) => ({ ...oauth2, user_info: { ...user_info, ...change } });
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

const invalid: Record<string, [reason: string, settings: unknown][]> = {
  provider_a: [
    ['user_info: is missing; audience_validation: is missing', {}],
    ['audience_validation: is missing', { user_info }],
    [`audience_validation.method: ${noMethod}`, validated({ method: 'trust' })],
    [`user_info.url: ${https}`, userInfo({ url: 'https://x.example/#a' })],
    [noCodes, exchange({})],
    [noCodes, { user_info, authorization_code }],
    [`audience_validation.issuer: ${https}`, byJwt({ issuer: 'http://accounts.example' })],
    ['audience_validation.audiences: must name at least one app id', byJwt({ audiences: [] })],
    ['user_info.subject_type: must be string or integer', userInfo({ subject_type: 'number' })],
    ['audience_validation.audiences: must be a list of app ids', validated({ audiences: 'us' })],
    [`user_info.profile.email: ${fieldName}`, userInfo({ profile: { email: 'a b' } })],
  ],
  provider_b: [
    [
      'authorization_code.redirect_uris: must name at most 20 redirect URIs',
      exchange({ redirect_uris: redirectUris(21) }),
    ],
    ['authorization_code.client_secret: is missing', exchange({ client_secret: undefined })],
    [
      'authorization_code.client_secret: must not stand beside client_secret_jwt',
      exchange({ client_secret_jwt }),
    ],
    [
      'authorization_code.client_secret_jwt.private_key_secret: must be an EC private key for ES256 in PEM form',
      exchange({
        client_secret: undefined,
        client_secret_jwt: { ...client_secret_jwt, private_key_secret: 'our-secret' },
      }),
    ],
    ['user_info: is missing', { authorization_code }],
    [
      'audience_validation: is missing',
      { user_info, authorization_code: { ...authorization_code, id_token } },
    ],
    [
      'authorization_code.redirect_uris: must be a list of redirect URIs',
      exchange({ redirect_uris: 'https://app.example' }),
    ],
    ['authorization_code.refused_errors: must be a list of error codes', exchange({ refused_errors: null })],
    [
      'authorization_code.id_token.profile.email: must be text',
      exchange({ id_token: { ...id_token, profile: { email: 7 } } }),
    ],
  ],
  provider_c: [
    [
      `verify_url: is missing; consumer_key: is missing; consumer_secret: is missing; issuers: ${noSetting}`,
      oidc,
    ],
    ['consumer_secret: is missing', consumer({ consumer_secret: undefined })],
    ['consumer_secret: must not be empty', consumer({ consumer_secret: '' })],
    ['consumer_secret: must be text', consumer({ consumer_secret: 7 })],
    [`subject_field: ${fieldName}`, consumer({ subject_field: 'a..b' })],
  ],
  provider_d: [
    [`audience_validation: ${noMethod}`, { user_info, audience_validation: null }],
    [`audience_validation: ${noMethod}`, { user_info, audience_validation: true }],
    ['audience_validation.audiences: must name at least one app id', validated({ audiences: [] }, tokenInfo)],
    ['audience_validation.audiences.1: must be text', validated({ audiences: ['us', 7] }, tokenInfo)],
    ['audience_validation.audiences.0: must not be empty', validated({ audiences: [''] }, tokenInfo)],
    ['audience_validation.audiences: must be a list of app ids', validated({ audiences: true }, tokenInfo)],
    [
      'audience_validation.refused_statuses: must be a list of HTTP statuses',
      validated({ refused_statuses: 400 }, tokenInfo),
    ],
  ],
  provider_e: [
    ['audience_validation.method: is missing', { user_info, audience_validation: {} }],
    [
      'audience_validation.refused_errors: must be a list of error codes',
      validated({ refused_errors: '190' }, tokenInfo),
    ],
  ],
  provider_f: [
    [`issuers.0.issuer: ${https}`, issuer({ issuer: 'http://accounts.example' })],
    [`issuers.0.audience: ${noSetting}`, issuer({ audience: ['us'] })],
    ['issuers: must name at least one issuer', { issuers: [] }],
    ['issuers: must name at most 20 issuers', issuersAt(redirectUris(21))],
    [
      'issuers: must name each issuer once',
      issuersAt(['accounts.google.com', 'https://accounts.google.com']),
    ],
    ['issuers.0.nonce: must be optional or required', issuer({ nonce: 'perhaps' })],
    [`issuers.0.max_age_seconds: ${seconds}`, issuer({ max_age_seconds: 59 })],
    ['issuers.0.audiences: must be a list of app ids', issuer({ audiences: 'ios,web' })],
    ['issuers.0.audiences: must be a list of app ids', issuer({ audiences: { 0: 'ios', length: 1 } })],
    [`issuers.0.profile.gender: ${onlyProfile}`, issuer({ profile: { gender: 'gender' } })],
    ['issuers.0.profile: must be a JSON object', issuer({ profile: null })],
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
  beforeEach(withNewApp);
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

describe('providers.md has each setting with its default, as of', () => {
  const page = readFileSync('docs/providers.md', 'utf8');
  /** Fields of which the page only says where they are: those of another table. */
  const repeated = /^(authorization_code\.id_token|issuers\[\]\.code_exchange)\b/;

  /** Fields with their defaults; one of an object within stands after its path, those of a variant once for each method. */
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
