import { describe, expect, test } from '@jest/globals';
import { CompactSign, exportJWK, generateKeyPair, type JWK, type JWTPayload } from 'jose';
import { newIssuerLogin } from '../support/issuer-login.ts';
import { logLine, logLines } from '../support/log-lines.ts';
import { createLoginApp } from '../support/login-app.ts';
import { ourApp, type Scene, startProviderStandIn } from '../support/provider-stand-in.ts';
import { logIn, prepareLogin, targets } from '../support/provider-targets.ts';
import { now, unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';

const { running, service } = await sharedServiceWithStore();
const { demo, operate } = service;
const [standIn, otherHost] = [await startProviderStandIn(), await startProviderStandIn()];
describe('an issuer that has turned hostile', () => {
  interface Hostile {
    /** What it publishes in the place of its own key. */
    keys?: (own: JWK) => object[];
    header?: object;
    /** The claims as text. */
    payload?: (claims: JWTPayload) => string;
  }

  /** Logs in at a trusted issuer with a token that its own key has signed. */
  async function logInWith({ keys = (own) => [own], header, payload = JSON.stringify }: Hostile) {
    const scene = standIn.openScene();
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const own = { ...(await exportJWK(publicKey)), kid: 'own', alg: 'ES256' };
    scene.answer('jwks', { status: 200, body: { keys: keys(own) } });
    const claims = { sub: 'alice', iss: scene.url, aud: ourApp, iat: now(), exp: now() + 60 };
    const id_token = await new CompactSign(new TextEncoder().encode(payload(claims)))
      .setProtectedHeader({ alg: 'ES256', kid: 'own', ...header })
      .sign(privateKey, { crit: { x: true } });
    const target = {
      ...targets.keys,
      login: () => ({ grant_type: 'provider_credentials', id_token }),
    };
    return logIn(service, await prepareLogin(service, scene, target));
  }

  test.each(['JWT', 'jwt', 'application/JWT'])(
    'control: a token that it signs as it should, with the typ %s',
    async (typ) => {
      expect((await logInWith({ header: { typ } })).status).toBe(200);
    },
  );

  test.each<[string, string, Hostile]>([
    ['finding', 'a type that is a list', { header: { typ: ['JWT'] } }],
    ['finding', 'a type that is null', { header: { typ: null } }],
    ['finding', 'claims that are null', { payload: () => 'null' }],
    ['finding', 'claims that are a list', { payload: () => '[]' }],
    ['finding', 'claims that are no JSON', { payload: () => '{' }],
    ['finding', 'an exp beyond all numbers', { payload: (claims) => beyond(claims, 'exp') }],
    ['finding', 'an iat beyond all numbers', { payload: (claims) => beyond(claims, 'iat') }],
    ['finding', 'lists in lists', { payload: (claims) => nested(claims) }],
    [
      'CVE-2019-10744',
      'claims below __proto__ alone',
      { payload: (claims) => `{"__proto__":${JSON.stringify(claims)}}` },
    ],
    ['RFC 8725 3.11', 'the type of an access token', { header: { typ: 'at+jwt' } }],
    ['RFC 8725 3.11', 'the type of a logout token', { header: { typ: 'logout+jwt' } }],
    [
      'RFC 7515 4.1.11',
      'a critical extension that nobody knows',
      { header: { crit: ['x'], x: 1 } },
    ],
  ])('[%s] signs %s: 400', async (_source, _what, hostile) => {
    expect(await logInWith(hostile)).toMatchObject({ status: 400, error: 'invalid_grant' });
  });

  const beyond = (claims: JWTPayload, name: string) =>
    JSON.stringify(claims).replace(new RegExp(`"${name}":\\d+`), `"${name}":1e999`);
  const nested = (claims: JWTPayload) =>
    JSON.stringify({ ...claims, sub: 0 }).replace(
      '"sub":0',
      `"sub":${'['.repeat(5_000)}${']'.repeat(5_000)}`,
    );

  const thousand = (own: JWK) => Array.from({ length: 1000 }, () => own);

  test.each<[string, string, (own: JWK) => object[], number[]]>([
    ['CWE-400', 'a thousand keys, all of this id', thousand, [400, 500]],
    [
      'CVE-2016-10555',
      'a secret key of this id',
      () => [{ kty: 'oct', kid: 'own', k: 'AAAA' }],
      [400],
    ],
    ['RFC 8725 3.1', 'its key for another algorithm', (own) => [{ ...own, alg: 'ES384' }], [400]],
    ['RFC 8725 3.1', 'its key for encryption', (own) => [{ ...own, use: 'enc' }], [400]],
    ['CVE-2020-0601', 'a key on a curve of its own', (own) => [{ ...own, crv: 'P-0' }], [400, 500]],
    ['RFC 8725 3.4', 'a key that is half missing', ({ y: _, ...own }) => [own], [400, 500]],
    [
      'CVE-2019-10744',
      'a key under __proto__',
      (own) => [JSON.parse(`{"__proto__":${JSON.stringify(own)}}`)],
      [500],
    ],
    ['RFC 7517 9.3', 'its private key', (own) => [{ ...own, d: own.x }], [500]],
    [
      'RFC 8725 3.1',
      'its key for key agreement',
      (own) => [{ ...own, key_ops: ['deriveBits'] }],
      [400],
    ],
    ['RFC 7517 5', 'no keys', () => [], [500]],
  ])('[%s] publishes %s: nobody is logged in', async (_source, _what, keys, statuses) => {
    expect(statuses).toContain((await logInWith({ keys })).status);
  });

  /**
   * The hosts that the service calls for a login at an issuer whose keys are said to be at an
   * address.
   */
  async function hostsCalled(scene: Scene, jwks_uri: string): Promise<unknown[]> {
    const prepared = await prepareLogin(service, scene, targets.discovery);
    scene.answer('.well-known/openid-configuration', {
      status: 200,
      body: { issuer: scene.url, jwks_uri },
    });
    const login = await logIn(service, prepared);
    expect(login.status).toBe(500);
    const request_id = login.requestId;
    await logLine(running, 'provider_failed', { request_id });
    const called = logLines(running).filter((line) => line.event === 'provider_called');
    return called.filter((line) => line.request_id === request_id).map(({ host }) => host);
  }

  test.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://10.0.0.1/keys',
    'https://10.0.0.1/keys',
    'https://[::1]/keys',
    'https://2130706433/keys',
    'https://login.localhost/keys',
    'http://127.0.0.1.evil.example/keys',
    'http://127.0.0.1@10.0.0.1/keys',
    'file:///etc/passwd',
    'gopher://127.0.0.1/',
    'data:application/json,{"keys":[]}',
    '//127.0.0.1/keys',
  ])(
    '[OWASP API7 2023] its discovery document leads to %s: 500, and no call is made',
    async (uri) => {
      expect(await hostsCalled(standIn.openScene(), uri)).toEqual([new URL(standIn.url).host]);
    },
  );

  test('[OWASP API7 2023] its discovery document leads to keys that only a forbidden address has', async () => {
    const scene = standIn.openScene();
    const disguised = `${scene.url.replace('127.0.0.1', '0.0.0.0')}/jwks`;
    expect((await fetch(disguised)).status).toBe(200);
    await hostsCalled(scene, disguised);
    expect(scene.calls('jwks')).toBe(1);
  });

  test('[OWASP API7 2023] its discovery document leads to keys on another host: 500, and nothing connects there', async () => {
    const [scene, elsewhere] = [standIn.openScene(), otherHost.openScene()];
    expect(await hostsCalled(scene, `${elsewhere.url}/jwks`)).toEqual([new URL(standIn.url).host]);
    expect(elsewhere.calls('jwks')).toBe(0);
  });

  test('[OWASP API7 2023] keys on another host count where the settings name their address, without the discovery', async () => {
    const [scene, elsewhere] = [standIn.openScene(), otherHost.openScene()];
    const jwks_uri = `${elsewhere.url}/jwks`;
    const { app } = await newIssuerLogin(service, standIn, { issuer: scene.url, jwks_uri });
    const id_token = await elsewhere.idToken({ iss: scene.url });
    expect((await service.byIdToken(id_token, app)).status).toBe(200);
    expect([scene.calls('.well-known/openid-configuration'), elsewhere.calls('jwks')]).toEqual([
      0, 1,
    ]);
    // Another Login App that does not name this address does not trust the keys there.
    const other = await newIssuerLogin(service, standIn, { issuer: scene.url });
    expect((await service.byIdToken(id_token, other.app)).status).toBe(400);
  });

  test('[OWASP API7 2023] the operator is told where the keys are, when they are on another host', async () => {
    const [scene, elsewhere] = [standIn.openScene(), otherHost.openScene()];
    const body = { issuer: scene.url, jwks_uri: `${elsewhere.url}/jwks` };
    scene.answer('.well-known/openid-configuration', { status: 200, body });
    await expect(newIssuerLogin(service, standIn, { issuer: scene.url })).rejects.toThrow(
      `issuers.0.jwks_uri: must be set, since the keys of ${scene.url} are on another host: ${elsewhere.url}/jwks`,
    );
    expect(elsewhere.calls('jwks')).toBe(0);
  });

  test('[RFC 9700 4.4] names another issuer in its discovery document', async () => {
    const scene = standIn.openScene();
    const body = { issuer: `${demo.sandbox_url}/provider_f`, jwks_uri: `${scene.url}/jwks` };
    scene.answer('.well-known/openid-configuration', { status: 200, body });
    expect(
      (await logIn(service, await prepareLogin(service, scene, targets.discovery))).status,
    ).toBe(500);
  });

  test('[CVE-2013-4593] says that a token of another app is one of ours in a field that is not asked for', async () => {
    const scene: Scene = standIn.openScene();
    const body = {
      active: true,
      client_id: 'another-app',
      data: { app_id: ourApp },
      audience: ourApp,
      sub: 'alice',
    };
    scene.answer('introspection', { status: 200, body });
    const { status } = await logIn(
      service,
      await prepareLogin(service, scene, targets.introspection),
    );
    expect(status).toBe(400);
  });

  test('[CVE-2019-10744] answers with __proto__ instead of a subject', async () => {
    const scene = standIn.openScene();
    scene.answer('user_info', { status: 200, body: '{"__proto__":{"sub":"alice"}}' });
    const { status } = await logIn(service, await prepareLogin(service, scene, targets.userInfo));
    expect(status).toBe(500);
  });
});

describe('provider settings that would make the service call something else', () => {
  test.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://provider.example/me',
    'https://user:password@provider.example/me',
    'file:///etc/passwd',
    'ftp://provider.example/me',
    'http://127.0.0.1.evil.example/me',
    'http://[::ffff:169.254.169.254]/me',
    'javascript:alert(1)',
    '/me',
  ])('[OWASP API7 2023] %s', async (url) => {
    const { login_app_id } = await createLoginApp(service, unique('app'));
    const settings = { verify_url: url, consumer_key: 'us', consumer_secret: 'our-secret' };
    const flags = { 'login-app': login_app_id, provider: 'provider_c', settings };
    await expect(operate('providers', 'set', flags)).rejects.toThrow('must be an https address');
  });
});
