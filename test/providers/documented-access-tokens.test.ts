import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { checkSettings } from '../../lib/providers/settings/merge.ts';
import { expectAnswer, expectError, tokenResponse } from '../support/expectations.ts';
import { newJwtLogin } from '../support/issuer-login.ts';
import { type Claims, ourApp, startProviderStandIn } from '../support/provider-stand-in.ts';
import { sharedService } from '../support/service.ts';

const service = sharedService();
const standIn = await startProviderStandIn();
const invalidGrant = { status: 400, error: 'invalid_grant' };

/** Tokens in the form that a provider documents, for the app of our recipe. */
interface Documented {
  header: object;
  accessToken: Claims;
  /** The claim of the access token that names the app. */
  app: string;
  /** An id token without a nonce, which says least about its kind. */
  idToken: Claims;
}

const guid = (last: number): string => `00000000-0000-0000-0000-00000000000${last}`;
const client = 'our-client-id';
const documented: Record<string, Documented[]> = {
  Keycloak: [
    {
      header: { typ: 'JWT' },
      accessToken: {
        aud: [ourApp, 'account'],
        azp: ourApp,
        typ: 'Bearer',
        acr: '1',
        realm_access: { roles: ['offline_access'] },
        scope: 'openid profile email',
        preferred_username: 'alice',
      },
      app: 'azp',
      idToken: { aud: ourApp, azp: ourApp, typ: 'ID', at_hash: 'x', acr: '1' },
    },
  ],
  Auth0: [
    ['JWT', 'azp'],
    ['at+jwt', 'client_id'],
  ].map(([typ = '', app = '']) => ({
    header: { typ },
    accessToken: {
      aud: ['https://api.example.com', 'https://tenant.eu.auth0.com/userinfo'],
      [app]: client,
      scope: 'openid profile read:patients',
    },
    app,
    idToken: { aud: client, name: 'Alice', sid: 'x' },
  })),
  Okta: [
    {
      header: {},
      accessToken: {
        ver: 1,
        jti: 'AT.x',
        aud: 'api://default',
        cid: client,
        uid: '00uid4BxXw6I6TV4m0g3',
        scp: ['openid'],
      },
      app: 'cid',
      idToken: { ver: 1, jti: 'ID.x', aud: client, amr: ['pwd'], idp: '00o', preferred_username: 'alice' },
    },
  ],
  'Amazon Cognito': [
    {
      header: {},
      accessToken: {
        aud: undefined,
        client_id: client,
        token_use: 'access',
        scope: 'aws.cognito.signin.user.admin',
        origin_jti: 'x',
        username: 'alice',
      },
      app: 'client_id',
      idToken: { aud: client, token_use: 'id', 'cognito:username': 'alice', origin_jti: 'x' },
    },
  ],
  'Microsoft Entra ID': [
    {
      header: { typ: 'JWT' },
      accessToken: {
        aud: guid(1),
        azp: guid(2),
        azpacr: '0',
        scp: 'access_as_user',
        tid: '9188040d-6c67-4c5b-b112-36a304b66dad',
        uti: 'x',
        ver: '2.0',
      },
      app: 'azp',
      idToken: { aud: guid(2), tid: '9188040d-6c67-4c5b-b112-36a304b66dad', uti: 'x', ver: '2.0' },
    },
  ],
};

describe('the recipe of providers.md', () => {
  const [, section = ''] = readFileSync('docs/providers.md', 'utf8').split(
    '#### Access tokens that are JWTs',
  );
  const rows = section
    .split('\n### ', 1)
    .join('')
    .matchAll(/^\| ([\w ]+) \| `(https:.+?)` \| (.*?)\| (.+?) \|/gm);
  const valuesIn = (cell = ''): string[] => cell.match(/(?<=`)[^`, ]+(?=`)/g) ?? [];
  const recipes = new Map(
    [...rows].map(([, name = '', issuer, field, audiences]) => {
      const [audience_field = 'aud'] = valuesIn(field);
      return [name, { issuer, rest: { method: 'jwt', audience_field, audiences: valuesIn(audiences) } }];
    }),
  );

  test('stands there for each of these providers', () => {
    expect([...recipes.keys()]).toEqual(Object.keys(documented));
  });

  const cases = Object.entries(documented).flatMap(([name, tokens]) =>
    tokens.map((token): [string, string, Documented] => [name, token.app, token]),
  );

  test.each(cases)(
    '%s: takes its documented access token (%s) of our app alone, and no id token',
    async (name, _claim, { header, accessToken, app, idToken }) => {
      const recipe = recipes.get(name);
      if (!recipe) throw new Error(`The page has no recipe for ${name}.`);
      const { issuer, rest } = recipe;
      const audience_validation = { issuer, ...rest };
      expect(checkSettings('provider_a', { audience_validation })).toHaveProperty('settings');
      const { scene, app: loginApp, logIn, set } = await newJwtLogin(service, standIn, rest);
      expectAnswer(await logIn(accessToken, header), 200, tokenResponse);
      expectError(await logIn({ ...accessToken, [app]: 'another-app' }, header), invalidGrant);
      expectError(await logIn(idToken, { typ: 'JWT' }), invalidGrant);

      await set({ issuers: [{ issuer: scene.url, audiences: rest.audiences }] }, 'provider_f');
      const asIdToken = async (claims: Claims, typ: object) => {
        const form = { grant_type: 'provider_credentials', provider: 'provider_f' };
        return service.token({ ...form, id_token: await scene.idToken(claims, typ) }, loginApp);
      };
      expectAnswer(await asIdToken(idToken, { typ: 'JWT' }), 200, tokenResponse);
      expectError(await asIdToken({ ...accessToken, aud: idToken.aud }, header), invalidGrant);
    },
  );
});
