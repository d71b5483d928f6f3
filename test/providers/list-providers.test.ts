import { describe, expect, test } from '@jest/globals';
import { expectAnswer, expectError } from '../support/expectations.ts';
import { createClient, createLoginApp, type LoginApp } from '../support/login-app.ts';
import { operator, succeeded } from '../support/operator.ts';
import { newPublicClient } from '../support/phone.ts';
import { asClient, sharedService, unique } from '../support/service.ts';

const service = sharedService();
const { call, demo, operate } = service;
const sandboxHost = new URL(demo.sandbox_url).host;

const list = (client: LoginApp) => call('/v2/marketing/providers', { headers: asClient(client) });
const newApp = (providers: string[] = []) => createLoginApp(service, unique('app'), { providers });
const credentials = (required: string[], optional: string[] = []) => {
  return { grant_type: 'provider_credentials', required, optional };
};
const code = (optional: string[], required = ['authorization_code']) => {
  return { grant_type: 'provider_authorization_code', required, optional };
};

/** A Login App with these settings, by provider. */
async function appWith(settings: Record<string, Record<string, unknown>>): Promise<LoginApp> {
  const app = await newApp();
  for (const [provider, flags] of Object.entries(settings)) {
    await operate('providers', 'set', { 'login-app': app.login_app_id, provider, ...flags });
  }
  return app;
}

const keysOfGoogle = 'https://www.googleapis.com/oauth2/v3/certs';
const issuer = { issuer: 'https://accounts.google.com', jwks_uri: keysOfGoogle };
const realm = {
  issuer: 'https://id.example/realm',
  jwks_uri: 'https://id.example/keys',
  nonce: 'required',
};
const twoIssuers = {
  settings: { issuers: [issuer, realm].map((one) => ({ ...one, audiences: ['us'] })) },
};
const exchange = {
  token_url: 'https://id.example/token',
  client_id: 'us',
  client_secret: 'our-secret',
};

const unauthorized = { status: 400, error: 'unauthorized_client' };

describe('GET /v2/marketing/providers', () => {
  test('each family, in the order of the identifiers', async () => {
    const app = await newApp(['provider_f', 'provider_c', 'provider_a']);
    const oauth = { companies: [sandboxHost], issuers: [] };
    const besideIdToken = ['authorization_code', 'code_verifier', 'redirect_uri', 'user'];
    const issuers = ['provider_f', 'provider_f/second'].map(
      (path) => `${demo.sandbox_url}/${path}`,
    );
    const { body } = await list(app);
    expect(body.providers).toEqual([
      {
        ...oauth,
        provider: 'provider_a',
        protocol: 'oauth2',
        grants: [credentials(['access_token'])],
      },
      {
        ...oauth,
        provider: 'provider_c',
        protocol: 'oauth1',
        grants: [credentials(['access_token', 'access_secret'])],
      },
      {
        provider: 'provider_f',
        protocol: 'oidc',
        companies: issuers,
        grants: [credentials(['id_token'], ['access_token', 'nonce', ...besideIdToken])],
        issuers: issuers.map((one) => ({ issuer: one, nonce: 'optional' })),
      },
    ]);
  });

  test('settings that were given as a whole are recognised as a well-known company', async () => {
    const app = await appWith({ provider_f: twoIssuers });
    expect((await list(app)).body.providers).toMatchObject([
      {
        companies: ['Google', realm.issuer],
        grants: [credentials(['id_token'], ['access_token', 'nonce'])],
        issuers: [
          { issuer: issuer.issuer, nonce: 'optional' },
          { issuer: realm.issuer, nonce: 'required' },
        ],
      },
    ]);
  });

  test('a provider whose access tokens are JWTs is known by their issuer', async () => {
    const jwt = { method: 'jwt', issuer: realm.issuer, audiences: ['us'] };
    const app = await appWith({ provider_a: { settings: { audience_validation: jwt } } });
    expect((await list(app)).body.providers).toMatchObject([
      { companies: [realm.issuer], grants: [credentials(['access_token'], [])], issuers: [] },
    ]);
  });

  test('a host that only looks like that of a well-known company is not recognised', async () => {
    const issuers = ['https://google.com.example', 'https://notgoogle.com'].map((one) => ({
      issuer: one,
      jwks_uri: `${one}/keys`,
      audiences: ['us'],
    }));
    const app = await appWith({ provider_f: { settings: { issuers } } });
    expect((await list(app)).body.providers).toMatchObject([
      { companies: issuers.map((one) => one.issuer) },
    ]);
  });

  test('a nonce that every issuer requires is among what must be sent', async () => {
    const app = await appWith({
      provider_b: { settings: { authorization_code: { ...exchange, id_token: realm } } },
      provider_f: { settings: { issuers: [{ ...realm, audiences: ['us'] }] } },
    });
    expect((await list(app)).body.providers).toMatchObject([
      {
        grants: [code(['code_verifier'], ['authorization_code', 'nonce'])],
        issuers: [{ nonce: 'required' }],
      },
      { grants: [credentials(['id_token', 'nonce'], ['access_token'])] },
    ]);
  });

  test('provider_b: access tokens and codes, with the parameters that its settings take', async () => {
    const flags = { preset: 'google', 'app-id': 'us', 'app-secret': 'our-secret' };
    const redirect = { 'redirect-uri': 'https://app.example/callback' };
    const google = await appWith({ provider_b: { ...flags, ...redirect } });
    const facebook = await appWith({ provider_b: { ...flags, ...redirect, preset: 'facebook' } });
    const grantsOf = async (app: LoginApp) => (await list(app)).body.providers[0].grants;
    const accessToken = credentials(['access_token']);
    expect(await grantsOf(google)).toEqual([
      accessToken,
      code(['code_verifier', 'redirect_uri', 'nonce']),
    ]);
    expect(await grantsOf(facebook)).toEqual([
      accessToken,
      code(['code_verifier', 'redirect_uri']),
    ]);
  });

  test('a change of the settings shows at once; nothing is set up at first', async () => {
    expectAnswer(await list(await newApp()), 200, { providers: [] });
    const app = await newApp(['provider_f', 'provider_a']);
    expect((await list(app)).body.providers).toHaveLength(2);
    await operate('providers', 'remove', { 'login-app': app.login_app_id, provider: 'provider_f' });
    expect((await list(app)).body.providers).toMatchObject([{ provider: 'provider_a' }]);
  });

  test('what a limited client may learn: everything, unless it may only introspect', async () => {
    const app = await newApp(['provider_f']);
    const clientFor = (grants: string) =>
      createClient(service, app.login_app_id, { 'grant-types': grants });
    const { body } = await list(app);
    expectAnswer(await list(await clientFor('refresh_token')), 200, body);
    const naming = 'The client may only introspect tokens.';
    expectError(await list(await clientFor('none')), { ...unauthorized, naming });
  });

  test('an error for a disabled Login App, a revoked client and a wrong secret', async () => {
    const [disabled, revoked] = [await newApp(), await newApp()];
    await operate('login-apps', 'disable', { 'login-app': disabled.login_app_id });
    await operate('clients', 'revoke', {
      'login-app': revoked.login_app_id,
      client: revoked.client_id,
    });
    expectError(await list(disabled), { ...unauthorized, naming: 'The Login App is disabled.' });
    for (const client of [revoked, { ...demo.login_app, client_secret: revoked.client_secret }])
      expectError(await list(client), { status: 401, error: 'invalid_client' });
  });
});

describe('npm run operator: login-apps describe', () => {
  test('prints a page in Markdown, in which a name is only text', async () => {
    const app = await appWith({
      provider_c: { preset: 'twitter', 'app-id': 'us', 'app-secret': 'our-secret' },
      provider_f: twoIssuers,
    });
    const { login_app_id } = app;
    await operate('login-apps', 'rename', { 'login-app': login_app_id, name: 'Shop\n| <b>' });
    const words = ['login-apps', 'describe', '--login-app', login_app_id];
    const { stdout } = await operator(...words, '--local');
    expect(stdout.split('\n')).toEqual([
      '# How to log in to Shop \\| \\<b\\>',
      '',
      'Send a form to `POST /v2/marketing/oauth/token`: `grant_type`, `provider` and the parameters of a row. A server authenticates with its',
      'client id and client secret (HTTP Basic), or with a client assertion. The client guide of the service has examples.',
      '',
      '| Provider | Company | Protocol | `grant_type` | Parameters | Issuers of id tokens |',
      '| --- | --- | --- | --- | --- | --- |',
      '| `provider_c` | X | OAuth 1.0 | `provider_credentials` | `access_token`, `access_secret` |  |',
      '| `provider_f` | Google, https://id.example/realm | OpenID Connect | `provider_credentials` | `id_token`, `access_token` (optional), `nonce` (optional) | https://accounts.google.com, https://id.example/realm (nonce required) |',
      '',
    ]);
    expect(await succeeded(...words, '--json')).toEqual({ login_app_id, page: stdout.trimEnd() });
  });

  test('says what public clients send: a proof, a nonce and, at X, the verifier of the code', async () => {
    const x = {
      preset: 'x',
      'app-id': 'us',
      'app-secret': 'our-secret',
      'redirect-uri': 'https://app.example/',
    };
    const app = await appWith({
      provider_a: { preset: 'facebook', 'app-id': 'us', 'app-secret': 'our-secret' },
      provider_b: x,
      provider_f: twoIssuers,
    });
    const { login_app_id } = app;
    const phone = await newPublicClient(service, { login_app_id });
    const providers = 'provider_b,provider_f';
    const both = await newPublicClient(service, { login_app_id, platform: 'android', providers });
    const { page } = await operate('login-apps', 'describe', { 'login-app': login_app_id });
    const [servers, phones] = String(page).split('\n## From an app without a server\n');
    expect(servers).toContain(
      '| `provider_b` | X | OAuth 2.0 | `provider_authorization_code` | `authorization_code`, `code_verifier`, `redirect_uri` (optional) |',
    );
    for (const named of [
      '`client_id`',
      '`DPoP`',
      '`DPoP-Nonce`',
      '`POST /v2/marketing/oauth/nonce`',
    ])
      expect(phones).toContain(named);
    const rows = phones?.split('\n').filter((line) => line.startsWith('| `'));
    const byIdToken = '`provider_f` | `provider_credentials` | `id_token`, `nonce` |';
    const byCode =
      '`provider_b` | `provider_authorization_code` | `authorization_code`, `code_verifier` |';
    expect(rows?.toSorted()).toEqual(
      [
        `| \`${phone}\` | ios | ${byIdToken}`,
        `| \`${both}\` | android | ${byCode}`,
        `| \`${both}\` | android | ${byIdToken}`,
      ].toSorted(),
    );
  });
});
