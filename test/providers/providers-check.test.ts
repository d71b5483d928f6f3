import { describe, expect, test } from '@jest/globals';
import { serve } from '../../infra/local/loopback-server.ts';
import { createLoginApp } from '../support/login-app.ts';
import { ourApp, type Scene, startProviderStandIn } from '../support/provider-stand-in.ts';
import { prepareLogin, type Target, targets } from '../support/provider-targets.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();
const standIn = await startProviderStandIn();

const check = (login_app_id: string, provider: string) =>
  service.operate('providers', 'check', { 'login-app': login_app_id, provider });

const rejected = 'The provider answers, and rejects a made-up credential.';
const oneKey = 'The issuer publishes its keys: 1.';
const passed = (check: string, detail: unknown = rejected) => ({ check, ok: true, detail });

describe('providers check says that all is well with the demo', () => {
  test.each([
    ['provider_a', ['audience validation', 'user info']],
    ['provider_b', ['audience validation', 'user info', 'authorization code']],
    ['provider_d', ['audience validation', 'user info']],
    ['provider_e', ['audience validation', 'user info']],
  ])('%s: each of its endpoints rejects a made-up credential', async (provider, names) => {
    const { login_app_id } = service.demo.login_app;
    const checks = names.map((name) => passed(name));
    expect(await check(login_app_id, provider)).toEqual({
      login_app_id,
      provider,
      ok: true,
      checks,
    });
  });

  test('provider_b for codes alone: all but the audience validation, which it does not have', async () => {
    const { login_app_id } = await createLoginApp(service, unique('app'));
    const scene = standIn.openScene();
    scene.answer('user_info', { status: 401, body: {} });
    scene.answer('token', { status: 400, body: { error: 'invalid_grant' } });
    const settings = targets.codeExchange.settings((at) => `${scene.url}/${at}`);
    const withoutAudience = { ...settings, audience_validation: undefined };
    await service.setProvider({ login_app_id }, 'provider_b', withoutAudience);
    const { ok, checks } = await check(login_app_id, 'provider_b');
    expect([ok, checks]).toEqual([true, [passed('user info'), passed('authorization code')]]);
  });

  test('codes that come with an id token: how many keys its issuer has, too', async () => {
    const { login_app_id } = await createLoginApp(service, unique('app'));
    const scene = standIn.openScene();
    scene.answer('token', { status: 400, body: { error: 'invalid_grant' } });
    const authorization_code = {
      token_url: `${scene.url}/token`,
      redirect_uris: ['https://app.example/callback'],
      client_id: ourApp,
      client_secret: 'our secret',
      id_token: { issuer: scene.url },
    };
    await service.setProvider({ login_app_id }, 'provider_b', { authorization_code });
    const { ok, checks } = await check(login_app_id, 'provider_b');
    const keys = passed(`keys of ${scene.url}`, oneKey);
    expect([ok, checks]).toEqual([true, [passed('authorization code'), keys]]);
  });

  test('provider_c: but that only a login shows whether our key is right', async () => {
    const { ok, checks } = await check(service.demo.login_app.login_app_id, 'provider_c');
    const detail = expect.stringContaining(
      'if the consumer key or secret were wrong: only a login shows',
    );
    expect([ok, checks]).toEqual([true, [passed('verification', detail)]]);
  });

  test('provider_f: how many keys each issuer has, and its token endpoint', async () => {
    const { ok, checks } = await check(service.demo.login_app.login_app_id, 'provider_f');
    const issuer = `${service.demo.sandbox_url}/provider_f`;
    const keys = [issuer, `${issuer}/second`].map((of) => passed(`keys of ${of}`, oneKey));
    expect([ok, checks]).toEqual([true, [keys[0], passed(`codes of ${issuer}`), keys[1]]]);
  });

  test('a provider of JWTs: how many keys their issuer has', async () => {
    const { url } = standIn.openScene();
    const { login_app_id } = await createLoginApp(service, unique('app'));
    const settings = { audience_validation: { method: 'jwt', issuer: url, audiences: [ourApp] } };
    await service.setProvider({ login_app_id }, 'provider_a', settings);
    const { ok, checks } = await check(login_app_id, 'provider_a');
    expect([ok, checks]).toEqual([true, [passed(`keys of ${url}`, oneKey)]]);
  });

  test('keys that come as another type than JSON, and as which', async () => {
    const scene = standIn.openScene();
    const keySet = await (await fetch(`${scene.url}/elsewhere/jwks`)).text();
    scene.answer('jwks', { body: keySet, headers: { 'content-type': 'text/plain' } });
    const { login_app_id } = await createLoginApp(service, unique('app'));
    const settings = {
      audience_validation: { method: 'jwt', issuer: scene.url, audiences: [ourApp] },
    };
    await service.setProvider({ login_app_id }, 'provider_a', settings);
    const { ok, checks } = await check(login_app_id, 'provider_a');
    const detail = `${oneKey} They are accepted, though they come as text/plain instead of application/json.`;
    expect([ok, checks]).toEqual([true, [passed(`keys of ${scene.url}`, detail)]]);
  });

  test('no line that it prints holds what the settings hide', async () => {
    const { login_app_id } = service.demo.login_app;
    const printed = await Promise.all(
      ['provider_b', 'provider_e'].map((id) => check(login_app_id, id)),
    );
    expect(JSON.stringify(printed)).not.toMatch(/made-up-to|secret=|access_token=/);
  });
});

/** What a check says of a Login App whose provider is a scene where something is wrong. */
async function detailsWhen(target: Target, spoil: (scene: Scene) => void, base?: string) {
  const scene = standIn.openScene();
  const { app } = await prepareLogin(service, scene, target, base);
  for (const endpoint of [
    'introspection',
    'token_info',
    'debug_token',
    'user_info',
    'verify',
    'token',
  ]) {
    scene.answer(endpoint, { body: { active: false } });
  }
  scene.answer('user_info', { status: 401, body: {} });
  spoil(scene);
  const { ok, checks } = await check(app.login_app_id, target.provider);
  const failed = Object.values(Object(checks)).filter((result) => !Object(result).ok);
  return {
    ok,
    details: failed.map((result) => String(Object(result).detail).replaceAll(scene.url, 'SCENE')),
  };
}

describe('providers check says what is wrong', () => {
  const { introspection, userInfo, debugToken, codeExchange, discovery, keys, verification } =
    targets;
  const ours = 'The provider rejects our own credentials at SCENE/';
  const right = "Are the app's id and secret right?";
  const clientError = { error: 'invalid_client' };
  const html = { 'content-type': 'text/html' };
  const isRight = 'Is the address right?';
  const notAsItShould = 'does not answer as it should';
  const ofDiscovery = `SCENE/.well-known/openid-configuration ${notAsItShould}`;
  const wrongClient = 'incorrect_client_credentials';
  const redirects =
    "redirects, which is not followed: set the address that it leads to, if that is the provider's";
  const acceptsAll =
    'The provider accepts a made-up credential: this address does not verify anything.';
  const tooMuch = 'more than 64 KiB: that is not what should be there';
  const otherIssuer = { issuer: 'https://example.com', jwks_uri: 'https://example.com' };

  test.each<
    [detail: string, Target, status: number, body: unknown, headers?: Record<string, string>]
  >([
    [`${ours}introspection (401). ${right}`, introspection, 401, clientError],
    [`${ours}debug_token (400). ${right}`, debugToken, 400, { error: { code: 190 } }],
    [`${ours}token (401, invalid_client). ${right}`, codeExchange, 401, clientError],
    [
      `SCENE/token ${notAsItShould} (200, ${wrongClient}, no access token).`,
      codeExchange,
      200,
      { error: wrongClient },
    ],
    [`SCENE/verify answers with status 404. ${isRight}`, verification, 404, {}],
    [`SCENE/user_info ${redirects}.`, userInfo, 302, {}, { location: '/elsewhere' }],
    [
      `SCENE/user_info does not answer in JSON (text/html). ${isRight}`,
      userInfo,
      200,
      '<h1>Log in</h1>',
      html,
    ],
    [acceptsAll, userInfo, 200, { sub: 'alice' }],
    [`SCENE/verify answers with ${tooMuch}. ${isRight}`, verification, 200, 'x'.repeat(70_000)],
    [
      `${ofDiscovery} (it names another issuer; a slash at the end counts).`,
      discovery,
      200,
      otherIssuer,
    ],
    ['SCENE/jwks does not answer as it should (it has no keys).', keys, 200, { keys: [] }],
  ])('%s', async (detail, target, status, body, headers = {}) => {
    const spoil = (scene: Scene) => scene.answer(target.endpoint, { status, body, headers });
    expect(await detailsWhen(target, spoil)).toEqual({ ok: false, details: [detail] });
  });

  test.each<[detail: string, (scene: Scene) => void]>([
    [
      'SCENE/.well-known/openid-configuration does not answer within 3 seconds.',
      (scene) => scene.misbehave(discovery.endpoint, () => undefined),
    ],
    [
      `${ofDiscovery} (it names no address of keys that may be called).`,
      ({ url, answer }) =>
        answer(discovery.endpoint, {
          status: 200,
          body: { issuer: url, jwks_uri: 'http://example.com' },
        }),
    ],
  ])('%s', async (detail, spoil) => {
    expect(await detailsWhen(discovery, spoil)).toEqual({ ok: false, details: [detail] });
  });

  test('a provider that is down', async () => {
    const down = await serve(() => undefined);
    await down.close();
    const detail = `There is no connection to ${down.url}/introspection (ECONNREFUSED).`;
    expect(await detailsWhen(introspection, () => undefined, down.url)).toEqual({
      ok: false,
      details: [`${detail} Is the address right, and the provider up?`],
    });
  });

  test('that a provider is not set up', async () => {
    const { login_app_id } = await createLoginApp(service, unique('app'));
    const checked = check(login_app_id, 'provider_a');
    await expect(checked).rejects.toThrow('The Login App has no provider_a; it has');
  });
});
