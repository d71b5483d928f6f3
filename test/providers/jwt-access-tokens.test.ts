import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { checkSettings } from '../../lib/providers/set-up/merge.ts';
import { expectAnswer, expectError, tokenResponse } from '../support/expectations.ts';
import { newJwtLogin } from '../support/issuer-login.ts';
import { subOf } from '../support/people.ts';
import {
  type Claims,
  ourApp,
  type Scene,
  startProviderStandIn,
} from '../support/provider-stand-in.ts';
import { now, sharedService } from '../support/service.ts';

const service = sharedService();
const standIn = await startProviderStandIn();
const invalidGrant = { status: 400, error: 'invalid_grant' };
const atJwt = { typ: 'at+jwt' };

const newLogin = (change?: object, more?: (scene: Scene) => object) =>
  newJwtLogin(service, standIn, change, more);

const login = await newLogin();
describe('the claims of an access token that the issuer has signed', () => {
  const jwt = { typ: 'JWT' };

  test.each<[string, Claims, object?]>([
    ['the type at+jwt', {}],
    ['its media type in full', {}, { typ: 'application/at+JWT' }],
    ['the type JWT, and a scope', { scope: 'openid' }, jwt],
    ['no type, and a scope', { scp: ['openid'] }, {}],
    ['our client_id', { client_id: ourApp }],
    ['several audiences with our azp', { aud: ['x', ourApp], azp: ourApp }],
    ['two claims that each name an app of ours', { azp: ourApp, client_id: ourApp }],
    ['several audiences with our client_id', { aud: ['x', ourApp], client_id: ourApp }],
    ['no iat', { iat: undefined, exp: now() + 600 }],
    ['an exp less than 60 s ago', { exp: now() - 20 }],
    ['a life of a month', { exp: now() + 30 * 86_400 }],
  ])('%s: 200', async (_, claims, header = atJwt) => {
    expectAnswer(await login.logIn(claims, header), 200, tokenResponse);
  });

  test.each<[string, Claims, object?]>([
    ['nothing that says that it is an access token', {}, jwt],
    ['no type, and nothing that says so', {}, {}],
    ['a nonce', { nonce: 'n' }],
    ['an at_hash', { at_hash: 'x', scope: 'openid' }, jwt],
    ['a c_hash', { c_hash: 'x' }],
    ['an s_hash', { s_hash: 'x' }],
    ['the events of a logout token', { events: {} }],
    ['a key that its sender must prove (RFC 7800)', { cnf: { jkt: 'x' } }],
    ['a party that acts for the person (RFC 8693)', { act: { sub: 'helpdesk' } }],
    ['the type of an id token, as Keycloak writes it', { typ: 'ID', scope: 'openid' }, jwt],
    [
      'the type of a refresh token, as Keycloak writes it',
      { typ: 'Refresh', scope: 'openid' },
      jwt,
    ],
    ['a type that is no text', { typ: ['Bearer'] }],
    [
      'the list of scopes of an id token, as UAA writes it',
      { scope: ['openid'], client_id: ourApp },
      jwt,
    ],
    ['the use of an id token, as Cognito writes it', { token_use: 'id', scope: 'openid' }, jwt],
    ['the header of a logout token', { scope: 'openid' }, { typ: 'logout+jwt' }],
    ['the header of a DPoP proof', { scope: 'openid' }, { typ: 'dpop+jwt' }],
    ['a header whose type only ends as it should', {}, { typ: 'not-at+jwt' }],
    ['a critical header that nobody knows', {}, { ...atJwt, crit: ['strange'], strange: 1 }],
    ['another issuer', { iss: 'https://accounts.example' }],
    ['another audience', { aud: 'another-app' }],
    ['another audience with our azp', { aud: 'another-app', azp: ourApp }],
    ['no audience, but our client_id', { aud: undefined, client_id: ourApp }],
    ['a foreign client_id', { client_id: 'another-app' }],
    ['no sub', { sub: undefined }],
    ['an empty sub', { sub: '' }],
    ['no exp', { exp: undefined }],
    ['an exp more than 60 s ago', { exp: now() - 90 }],
  ])('%s: 400 invalid_grant', async (_, claims, header = atJwt) => {
    expectError(await login.logIn(claims, header), invalidGrant);
  });

  test("another issuer's key does not sign for this one: 400 invalid_grant", async () => {
    const forged = await standIn.openScene().idToken({ iss: login.scene.url }, atJwt);
    expectError(await login.send(forged), invalidGrant);
  });

  test('with client_id as the audience_field: no other app, no token without one, and no other aud', async () => {
    const { logIn } = await newLogin({ audience_field: 'client_id' });
    for (const aud of [undefined, ourApp])
      expect((await logIn({ aud, client_id: ourApp })).status).toBe(200);
    for (const claims of [
      { aud: undefined, client_id: 'another-app' },
      { aud: undefined, client_id: [ourApp] },
      { aud: undefined },
      { client_id: undefined },
      { aud: 'another-api', client_id: ourApp },
      { aud: undefined, client_id: ourApp, azp: 'another-app' },
    ]) {
      expectError(await logIn(claims), invalidGrant);
    }
  });
});

describe('what is asked of the provider', () => {
  const discovery = '.well-known/openid-configuration';

  test('its keys, once; a forged token costs no more', async () => {
    const { scene, send, logIn } = await newLogin();
    const before = scene.calls(discovery);
    for (const _ of [1, 2, 3]) expect((await logIn()).status).toBe(200);
    expectError(await send('a.b.c'), invalidGrant);
    const calls = [scene.calls('jwks'), scene.calls(discovery) - before, scene.calls('user_info')];
    expect(calls).toEqual([1, 1, 0]);
  });

  test('the user info if the settings have it, which must name the same person', async () => {
    const { scene, logIn } = await newLogin({}, ({ url }) => ({
      user_info: { url: `${url}/user_info` },
    }));
    expect((await logIn({ sub: 'alice' })).status).toBe(200);
    expectError(await logIn({ sub: 'bob' }), invalidGrant);
    expectError(await logIn({ sub: 'alice', aud: 'another-app' }), invalidGrant);
    expect(scene.calls('user_info')).toBe(3);
  });

  test('a code is exchanged, and the access token that comes for it needs no call', async () => {
    const { scene, app, audience_validation, set } = await newLogin();
    const client = { client_id: ourApp, client_secret: 'our secret' };
    const authorization_code = { token_url: `${scene.url}/token`, ...client };
    await set({ audience_validation, authorization_code }, 'provider_b');
    const code = { provider: 'provider_b', authorization_code: 'x' };
    const form = { grant_type: 'provider_authorization_code', ...code };
    for (const [aud, status] of [[ourApp, 200] as const, ['another-app', 400] as const]) {
      const body = { access_token: await scene.idToken({ aud }, atJwt), token_type: 'bearer' };
      scene.answer('token', { status: 200, body });
      expect((await service.token(form, app)).status).toBe(status);
    }
  });

  test('the operator is told where the keys are, when they are on another host', async () => {
    const { scene, audience_validation, set } = await newLogin();
    const jwks_uri = 'https://keys.example/jwks';
    scene.answer(discovery, { status: 200, body: { issuer: scene.url, jwks_uri } });
    await expect(set({ audience_validation })).rejects.toThrow(
      `audience_validation.jwks_uri: must be set, since the keys of ${scene.url} are on another host: ${jwks_uri}`,
    );
  });
});

describe('the person of an access token', () => {
  const sub = 'alice';

  test('is that of an id token of the issuer, and another one in another namespace', async () => {
    const { scene, app, audience_validation, set, send, logIn } = await newLogin();
    await set({ issuers: [{ issuer: scene.url, audiences: [ourApp] }] }, 'provider_f');
    await set({ namespace: 'company', audience_validation }, 'provider_d');
    const byIdToken = await service.byIdToken(await scene.idToken({ sub }), app);
    expect(subOf(await logIn({ sub }))).toBe(subOf(byIdToken));
    const elsewhere = await send(await scene.idToken({ sub }, atJwt), 'provider_d');
    expect(subOf(elsewhere)).not.toBe(subOf(byIdToken));
  });

  test('stays the same when the audiences change; another issuer must be given explicitly', async () => {
    const { scene, audience_validation, set, logIn } = await newLogin();
    const before = subOf(await logIn({ sub }));
    const { url } = standIn.openScene();
    await expect(
      set({ audience_validation: { ...audience_validation, issuer: url } }),
    ).rejects.toThrow(
      `namespace: must be set, since audience_validation.issuer says who the people are now: ${scene.url} keeps the Login Users, ${url} starts with new ones.`,
    );
    await set({ audience_validation: { ...audience_validation, audiences: [ourApp, 'another'] } });
    expect(subOf(await logIn({ sub }))).toBe(before);
  });
});

/**
 * Access tokens as providers document them, for the app of the recipe in providers.md: typ, the
 * claim that names the app, claims.
 */
const guid = (last: number): string => `00000000-0000-0000-0000-00000000000${last}`;
const client = 'our-client-id';
const keycloak = { aud: [ourApp, 'account'], azp: ourApp, typ: 'Bearer', scope: 'openid profile' };
const auth0 = {
  aud: ['https://api.example.com', 'https://tenant.eu.auth0.com/userinfo'],
  scope: 'openid',
};
const cognito = { aud: undefined, token_use: 'access', scope: 'aws.cognito.signin.user.admin' };
const documented: [name: string, typ: string | undefined, app: string, Claims][] = [
  ['Keycloak', 'JWT', 'azp', keycloak],
  ['Auth0', 'JWT', 'azp', { ...auth0, azp: client }],
  ['Auth0', 'at+jwt', 'client_id', { ...auth0, client_id: client }],
  [
    'Okta',
    undefined,
    'cid',
    { ver: 1, aud: 'api://default', cid: client, uid: '00u', scp: ['openid'] },
  ],
  ['Amazon Cognito', undefined, 'client_id', { ...cognito, client_id: client, username: 'a' }],
  [
    'Microsoft Entra ID',
    'JWT',
    'azp',
    { aud: guid(1), azp: guid(2), scp: 'access_as_user', ver: '2.0' },
  ],
];

describe('the recipe of providers.md', () => {
  const page = readFileSync('docs/providers.md', 'utf8');
  const [section = ''] =
    page.split('#### Access tokens that are JWTs')[1]?.split('\n### ', 1) ?? [];
  const rows = section.matchAll(/^\| ([\w ]+) \| `(https:.+?)` \| (.*?)\| (.+?) \|/gm);
  const valuesIn = (cell = ''): string[] => cell.match(/(?<=`)[^`, ]+(?=`)/g) ?? [];
  const recipes = new Map(
    [...rows].map(([, name = '', issuer, field, audiences]) => {
      const [audience_field = 'aud'] = valuesIn(field);
      return [
        name,
        { issuer, rest: { method: 'jwt', audience_field, audiences: valuesIn(audiences) } },
      ];
    }),
  );

  test('stands there for each of these providers', () => {
    expect([...recipes.keys()]).toEqual([...new Set(documented.map(([name]) => name))]);
  });

  test.each(documented)(
    '%s: takes its token (%s, %s) of our app alone',
    async (name, typ, app, claims) => {
      const { issuer, rest } = recipes.get(name) ?? {};
      const settings = { audience_validation: { issuer, ...rest } };
      expect(checkSettings('provider_a', settings)).toHaveProperty('settings');
      const { logIn } = await newLogin(rest);
      const header = typ === undefined ? {} : { typ };
      expectAnswer(await logIn(claims, header), 200, tokenResponse);
      expectError(await logIn({ ...claims, [app]: 'another-app' }, header), invalidGrant);
    },
  );
});
