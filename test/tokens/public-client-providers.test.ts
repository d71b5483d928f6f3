import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { expectAnswer, expectError, tokenResponse } from '../support/expectations.ts';
import { createLoginApp, demoSettings } from '../support/login-app.ts';
import { accountOf } from '../support/people.ts';
import { newPhone, newPublicClient } from '../support/phone.ts';
import { ourApp, startProviderStandIn } from '../support/provider-stand-in.ts';
import { targets } from '../support/provider-targets.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();
const standIn = await startProviderStandIn();
const { operate } = service;
const { login_app_id } = service.demo.login_app;
const invalidGrant = { status: 400, error: 'invalid_grant' };
const invalidRequest = { status: 400, error: 'invalid_request' };
const notAllowed = { status: 400, error: 'unauthorized_client' };

/**
 * A Login App whose `provider_a` and `provider_b` are a scene at the stand-in.
 * @param providers of its public client
 */
async function setUp(providers?: string) {
  const scene = standIn.openScene();
  const app = await createLoginApp(service, unique('app'), { providers: ['provider_f'] });
  const address = (endpoint: string) => `${scene.url}/${endpoint}`;
  await service.setProvider(app, 'provider_a', targets.introspection.settings(address));
  const flags = providers === undefined ? {} : { providers };
  const client = await newPublicClient(service, { login_app_id: app.login_app_id, ...flags });
  return { app, scene, client, phone: await newPhone(service, client) };
}

const byAccessToken = {
  grant_type: 'provider_credentials',
  provider: 'provider_a',
  access_token: 'x',
};
const byCode = {
  grant_type: 'provider_authorization_code',
  provider: 'provider_b',
  authorization_code: 'a-code',
};

/**
 * Anybody knows its id, and could spend the quota of the app at a provider with made-up
 * credentials.
 */
describe('a public client', () => {
  test('takes id tokens by default: at another provider nobody is called, and the error names who can allow it', async () => {
    const { scene, phone } = await setUp();
    const naming =
      /^The public client may not use provider_a, only provider_f\. An operator .* clients set-providers\.$/;
    expectError(await phone.send('token', byAccessToken), { ...notAllowed, naming });
    expectError(await phone.send('token', byCode), {
      ...notAllowed,
      naming: /provider_b, only provider_f/,
    });
    expect(scene.calls('introspection') + scene.calls('user_info')).toBe(0);
    expectAnswer(await phone.logIn(), 200, tokenResponse);
  });

  test('takes the providers that clients create names', async () => {
    const { phone, scene } = await setUp('provider_a,provider_f');
    expectAnswer(await phone.send('token', byAccessToken), 200, tokenResponse);
    expect(scene.calls('introspection')).toBe(1);
    expectAnswer(await phone.logIn(), 200, tokenResponse);
  });

  test('takes other ones after clients set-providers', async () => {
    const { app, client } = await setUp();
    const of = { 'login-app': app.login_app_id, client };
    const set = await operate('clients', 'set-providers', { ...of, providers: 'provider_a' });
    expect(set).toEqual({
      login_app_id: app.login_app_id,
      client_id: client,
      providers: ['provider_a'],
    });
    expect(await operate('clients', 'show', { client })).toMatchObject({
      providers: ['provider_a'],
    });
    const phone = await newPhone(service, client);
    expectAnswer(await phone.send('token', byAccessToken), 200, tokenResponse);
    expectError(await phone.logIn(), { ...notAllowed, naming: /provider_f, only provider_a/ });
  });

  test('is shown with its providers', async () => {
    const { client } = await setUp();
    expect(await operate('clients', 'show', { client })).toMatchObject({
      providers: ['provider_f'],
    });
  });

  test('links no identity of another provider either', async () => {
    const { phone, scene } = await setUp();
    const account = accountOf(service, (await phone.logIn()).body.access_token);
    const answer = await account.link({ provider: 'provider_a', access_token: 'x' });
    expectError(answer, { ...notAllowed, naming: /provider_a, only provider_f/ });
    expect(scene.calls('introspection')).toBe(0);
  });

  test('alone has such a list: a confidential one has all providers', async () => {
    const of = { 'login-app': login_app_id, client: service.demo.login_app.client_id };
    const set = operate('clients', 'set-providers', { ...of, providers: 'provider_a' });
    await expect(set).rejects.toThrow(/not public/);
    const created = operate('clients', 'create', {
      'login-app': login_app_id,
      providers: 'provider_a',
    });
    await expect(created).rejects.toThrow(/--providers is for --public/);
  });
});

/** @see RFC 9700, section 2.1.1 */
describe('a code of a public client', () => {
  const code_verifier = 'v'.repeat(43);
  const code_challenge = createHash('sha256').update(code_verifier).digest('base64url');
  const issued = async (query: Record<string, string>) =>
    service.loginForm('provider_b', query, 'provider_authorization_code');

  describe('at a provider that verifies PKCE', () => {
    const ofSandbox = async () =>
      newPhone(service, await newPublicClient(service, { providers: 'provider_b' }));

    test('needs the verifier of its challenge', async () => {
      const phone = await ofSandbox();
      const form = await issued({ code_challenge });
      const naming = 'The parameter code_verifier is required for a public client.';
      expectError(await phone.send('token', form), { ...invalidRequest, naming });
      expectAnswer(await phone.send('token', { ...form, code_verifier }), 200, tokenResponse);
    });

    test('that was stolen from a web page logs nobody in, with a made-up verifier', async () => {
      const phone = await ofSandbox();
      const stolen = await issued({});
      expectError(await phone.send('token', { ...stolen, code_verifier }), invalidGrant);
    });
  });

  test('at another provider logs nobody in, and the code is not used up', async () => {
    const { app, scene, phone } = await setUp('provider_b');
    await service.setProvider(
      app,
      'provider_b',
      targets.codeExchange.settings((endpoint) => `${scene.url}/${endpoint}`),
    );
    const naming = /^A public client cannot log in by a code of this provider: .* PKCE\.$/;
    const answer = await phone.send('token', { ...byCode, code_verifier });
    expectError(answer, { ...notAllowed, naming });
    expect(scene.calls('token')).toBe(0);
    expectAnswer(await service.token({ ...byCode, code_verifier }, app), 200, tokenResponse);
  });

  test('that brings an id token needs a nonce of the service, whatever the verifier', async () => {
    const { app, scene, phone } = await setUp('provider_b');
    await service.setProvider(app, 'provider_b', {
      authorization_code: {
        token_url: `${scene.url}/token`,
        client_id: ourApp,
        client_secret: 'our secret',
        id_token: { issuer: scene.url },
      },
    });
    const issue = async (nonce: string) => {
      const id_token = await scene.idToken({ nonce });
      scene.answer('token', { body: { access_token: 'x', token_type: 'bearer', id_token } });
    };
    await issue('of-a-web-page');
    const naming = 'The parameter nonce is required for a public client.';
    expectError(await phone.send('token', { ...byCode, code_verifier }), {
      ...invalidRequest,
      naming,
    });
    expectError(await phone.send('token', { ...byCode, nonce: 'of-a-web-page' }), invalidGrant);
    expect(scene.calls('token')).toBe(0);
    expectError(await phone.send('token', { ...byCode, nonce: await phone.nonce() }), invalidGrant);
    const nonce = await phone.nonce();
    await issue(nonce);
    expectAnswer(await phone.send('token', { ...byCode, nonce }), 200, tokenResponse);
  });

  test('at a provider that requires PKCE: every client needs the verifier, and the code is not used up', async () => {
    const { app, scene } = await setUp();
    const settings = Object(
      targets.codeExchange.settings((endpoint) => `${scene.url}/${endpoint}`),
    );
    const authorization_code = { ...settings.authorization_code, pkce: 'required' };
    await service.setProvider(app, 'provider_b', { ...settings, authorization_code });
    const naming = 'The parameter code_verifier is required for this provider.';
    expectError(await service.token(byCode, app), { ...invalidRequest, naming });
    expect(scene.calls('token')).toBe(0);
    const asked = await service.call('/v2/marketing/providers', {
      headers: { authorization: `Basic ${btoa(`${app.client_id}:${app.client_secret}`)}` },
    });
    const grants = asked.body.providers.flatMap((one: { grants: object[] }) => one.grants);
    const byCodes = {
      grant_type: 'provider_authorization_code',
      required: ['authorization_code', 'code_verifier'],
    };
    expect(grants).toContainEqual(expect.objectContaining(byCodes));
  });
});

test('the sandbox says that it verifies PKCE', async () => {
  expect(await demoSettings(service, 'provider_b')).toMatchObject({
    authorization_code: { pkce: 'verified' },
  });
});
