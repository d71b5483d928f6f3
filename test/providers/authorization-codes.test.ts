import { createHash, createPublicKey, randomBytes } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import { jwtVerify } from 'jose';
import * as v from 'valibot';
import { startSandbox } from '../../infra/local/sandbox/sandbox.ts';
import { providerIds } from '../../lib/providers/provider-ids.ts';
import { applyPreset } from '../../lib/providers/set-up/apply-preset.ts';
import type { PresetName } from '../../lib/providers/set-up/presets.ts';
import { expectAnswer, expectError, tokenResponse } from '../support/expectations.ts';
import { createLoginApp, demoSettings, type LoginApp } from '../support/login-app.ts';
import { accountOf, newPerson, subOf } from '../support/people.ts';
import {
  client_secret_jwt,
  ourApp,
  privateKey,
  reply,
  type Scene,
  startProviderStandIn,
} from '../support/provider-stand-in.ts';
import { targets } from '../support/provider-targets.ts';
import { type Answer, basic, sharedService, unique } from '../support/service.ts';

const service = sharedService();
const { credentials, loginForm, token } = service;
const standIn = await startProviderStandIn();
const sandbox = await startSandbox();
afterAll(() => sandbox.close());
const invalidGrant = { status: 400, error: 'invalid_grant' };
const unknownError = { status: 500, error: 'internal_server_error' };
const invalidRequest = (naming: RegExp | string) => ({
  status: 400,
  error: 'invalid_request',
  naming,
});

const send = (form: Record<string, string>, client?: LoginApp): Promise<Answer> =>
  token({ grant_type: 'provider_authorization_code', provider: 'provider_b', ...form }, client);

const code = async (query: Record<string, string> = {}): Promise<string> =>
  (await credentials('provider_b', { subject: unique('alice'), ...query })).authorization_code ??
  '';

async function setUp(settings: object) {
  const app = await createLoginApp(service, unique('app'));
  await service.setProvider(app, 'provider_b', settings);
  return {
    app,
    sendCode: (more: object = {}) => send({ authorization_code: 'a-code', ...more }, app),
  };
}

/** A Login App whose provider_b is a scene. */
async function setUpAt(settingsOf: (scene: Scene) => object) {
  const scene = standIn.openScene();
  return { scene, ...(await setUp(settingsOf(scene))) };
}

/** A code of a certified server that nobody here wrote. */
async function issuedBySandbox(query: Record<string, string>): Promise<string> {
  const parameters = new URLSearchParams({ subject: 'alice', ...query });
  const answer = await (await fetch(`${sandbox.url}/provider_b/credentials?${parameters}`)).json();
  return v.parse(v.object({ authorization_code: v.string() }), answer).authorization_code;
}
const sandboxSettings = v.parse(
  v.looseObject({ authorization_code: v.looseObject({}) }),
  sandbox.settings.provider_b,
);

describe('code_verifier', () => {
  test.each([
    ['42 characters', 'x'.repeat(42)],
    ['129 characters', 'x'.repeat(129)],
    ['a plus sign', `${'x'.repeat(42)}+`],
    ['a letter that is not ASCII', `${'x'.repeat(42)}é`],
  ])('%s: 400 naming it', async (_, malformed) => {
    const answer = await send({ authorization_code: await code(), code_verifier: malformed });
    expectError(answer, invalidRequest(/^The code_verifier must be 43 to 128/));
  });

  // The pair that RFC 7636 shows in appendix B.
  test('the published pair', async () => {
    const published = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
    const authorization_code = await code({
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    });
    expectAnswer(await send({ authorization_code, code_verifier: published }), 200, tokenResponse);
  });
});

test.each(providerIds)(
  'code_verifier and redirect_uri beside credentials of %s: 400',
  async (provider) => {
    const sent = await loginForm(provider);
    for (const name of ['code_verifier', 'redirect_uri']) {
      const naming = `The parameter ${name} must not be supplied with provider credentials.`;
      expectError(await token({ ...sent, [name]: 'x'.repeat(43) }), invalidRequest(naming));
    }
  },
);

/** Has the scene's token endpoint answer like the stand-in, and with an id token. */
const issueIdToken = (scene: Scene, claims?: Parameters<Scene['idToken']>[0]) =>
  scene.answer('token', async () => ({
    body: {
      access_token: 'an-access-token',
      token_type: 'Bearer',
      id_token: await scene.idToken(claims),
    },
  }));

const byAccessToken =
  (exchange: object = {}) =>
  ({ url }: Scene) => ({
    ...targets.introspection.settings((endpoint) => `${url}/${endpoint}`),
    authorization_code: {
      token_url: `${url}/token`,
      client_id: ourApp,
      client_secret: 'our secret',
      ...exchange,
    },
  });

describe('redirect_uri', () => {
  const redirect_uris = ['https://app.example/first', 'https://app.example/second'];

  test('is one of the settings, by default the first; another is a 400, and the provider is not asked', async () => {
    const { scene, sendCode } = await setUpAt(byAccessToken({ redirect_uris }));
    const naming = 'The redirect_uri must be one of those in the provider settings.';
    for (const foreign of [
      'https://evil.example',
      `${redirect_uris[0]}/`,
      'https://app.example/First',
    ])
      expectError(await sendCode({ redirect_uri: foreign }), invalidRequest(naming));
    expect(scene.calls('token')).toBe(0);
    const answers = [await sendCode()];
    for (const redirect_uri of redirect_uris) answers.push(await sendCode({ redirect_uri }));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const sent = scene.forms('token').map(({ redirect_uri }) => redirect_uri);
    expect(sent).toEqual([redirect_uris[0], ...redirect_uris]);
  });

  test('is not sent when the settings have none', async () => {
    const { scene, sendCode } = await setUpAt(byAccessToken());
    expect((await sendCode()).status).toBe(200);
    expect(scene.forms('token')).toEqual([
      expect.not.objectContaining({ redirect_uri: expect.anything() }),
    ]);
  });
});

test('a nonce, where the settings use no id token: 400 naming it', async () => {
  const answer = await send({ authorization_code: await code(), nonce: 'x' });
  expectError(answer, invalidRequest(/^The parameter nonce must not be supplied/));
});

describe('a code that counts by its exchange alone', () => {
  /** Settings of a provider that doesn't say to which app it issued an access token. */
  const byExchange = (scene: Scene) => ({
    ...byAccessToken()(scene),
    audience_validation: undefined,
  });

  test('200, the person of the user info; access tokens count by no endpoint', async () => {
    const { scene, app, sendCode } = await setUpAt(byExchange);
    const answer = await sendCode();
    expectAnswer(answer, 200, tokenResponse);
    const form = { provider: 'provider_b', access_token: 'an-access-token' };
    const notSetUp = invalidRequest(/provider_b is not set up/);
    expectError(await token({ grant_type: 'provider_credentials', ...form }, app), notSetUp);
    expectError(await accountOf(service, answer.body.access_token).link(form), notSetUp);
    expect([scene.calls('user_info'), scene.calls('introspection')]).toEqual([1, 0]);
  });

  test("[RFC 6749 4.1.3] another client's code: 400 invalid_grant, by a certified server", async () => {
    const { app } = await setUp({ ...sandboxSettings, audience_validation: undefined });
    expectAnswer(
      await send({ authorization_code: await issuedBySandbox({}) }, app),
      200,
      tokenResponse,
    );
    const foreign = await issuedBySandbox({ audience: 'another-app' });
    expectError(await send({ authorization_code: foreign }, app), invalidGrant);
  });

  describe('by the preset x', () => {
    const redirectUris = ['https://app.example/callback'];
    const options = {
      'app-id': ['our-app'],
      'app-secret': 'our-secret',
      'redirect-uri': redirectUris,
    };
    /** The preset's settings, with X at a scene. */
    const byPreset = ({ url }: Scene): object => {
      const { settings } = Object(applyPreset('x', 'provider_b', options));
      return JSON.parse(JSON.stringify(settings).replaceAll('https://api.x.com', url));
    };
    const code_verifier = 'v'.repeat(43);

    test('the exchange is as its documentation has it', async () => {
      const { scene, sendCode } = await setUpAt(byPreset);
      let authorization: string | undefined;
      scene.misbehave('2/oauth2/token', ({ headers }, response) => {
        ({ authorization } = headers);
        const body = { access_token: 'an-access-token', token_type: 'bearer', expires_in: 7200 };
        reply(response, { body });
      });
      scene.answer('2/users/me', { body: { data: { id: '2244994945', name: 'X Dev' } } });
      expectAnswer(await sendCode({ code_verifier }), 200, tokenResponse);
      const grant = {
        grant_type: 'authorization_code',
        code: 'a-code',
        redirect_uri: redirectUris[0],
      };
      expect(authorization).toBe(basic('our-app', 'our-secret'));
      expect(scene.forms('2/oauth2/token')).toEqual([{ ...grant, code_verifier }]);
    });

    test('a code that X refuses: 400 invalid_grant', async () => {
      const { scene, sendCode } = await setUpAt(byPreset);
      const error_description = 'Value passed for the authorization code was invalid.';
      scene.answer('2/oauth2/token', {
        status: 400,
        body: { error: 'invalid_request', error_description },
      });
      expectError(await sendCode({ code_verifier }), invalidGrant);
    });
  });
});

/** Settings by which a code counts through the id token that comes for it. */
const byIdToken =
  (rules: object = {}, exchange: object = { client_secret: 'our secret' }) =>
  ({ url }: Scene) => ({
    authorization_code: {
      token_url: `${url}/token`,
      client_id: ourApp,
      client_authentication: 'form',
      id_token: { issuer: url, ...rules },
      ...exchange,
    },
  });

describe('a code that counts by its id token', () => {
  const hash = createHash('sha256').update('an-access-token').digest();
  const atHash = hash.subarray(0, 16).toString('base64url');

  test('200, without a call to the user info; its profile is that of the id token', async () => {
    const { scene, sendCode } = await setUpAt(byIdToken({ profile: { email: 'mail' } }));
    issueIdToken(scene, { at_hash: atHash, nonce: 'n', mail: 'alice@example.com' });
    const answer = await sendCode();
    expectAnswer(answer, 200, tokenResponse);
    expectAnswer(await sendCode({ nonce: 'n' }), 200, tokenResponse);
    expect([scene.calls('user_info'), scene.calls('introspection')]).toEqual([0, 0]);
    const [identity] = (await accountOf(service, answer.body.access_token).show()).body.identities;
    expect(identity.profile).toEqual({ email: 'alice@example.com' });
  });

  test('is the same Login User as by an id token of this issuer at provider_f', async () => {
    const { scene, app, sendCode } = await setUpAt(byIdToken());
    issueIdToken(scene);
    const settings = { issuers: [{ issuer: scene.url, audiences: [ourApp] }] };
    await service.setProvider(app, 'provider_f', settings);
    expect(subOf(await sendCode())).toBe(
      subOf(await service.byIdToken(await scene.idToken(), app)),
    );
  });

  test.each<[string, Parameters<Scene['idToken']>[0]]>([
    ['for another app', { aud: 'another-app' }],
    ['of another issuer', { iss: 'https://accounts.example' }],
    ['with another access token', { at_hash: 'x' }],
    ['without a subject', { sub: '' }],
  ])('the id token is %s: 400 invalid_grant', async (_, claims) => {
    const { scene, sendCode } = await setUpAt(byIdToken());
    issueIdToken(scene, claims);
    expectError(await sendCode(), invalidGrant);
  });

  test('the answer has none: 500', async () => {
    const { sendCode } = await setUpAt(byIdToken());
    expectError(await sendCode(), unknownError);
  });

  test('a required nonce is asked for before the code is used up', async () => {
    const { scene, sendCode } = await setUpAt(byIdToken({ nonce: 'required' }));
    issueIdToken(scene, { nonce: 'n' });
    expectError(
      await sendCode(),
      invalidRequest('The parameter nonce is required for this issuer.'),
    );
    expect(scene.calls('token')).toBe(0);
    expectError(await sendCode({ nonce: 'x' }), invalidGrant);
    expectAnswer(await sendCode({ nonce: 'n' }), 200, tokenResponse);
  });

  test('a certified server that nobody here wrote: 200 with PKCE and nonce', async () => {
    const id_token = { issuer: `${sandbox.url}/provider_b`, nonce: 'required' };
    const { app } = await setUp({
      authorization_code: { ...sandboxSettings.authorization_code, id_token },
    });
    const code_verifier = randomBytes(40).toString('base64url');
    const code_challenge = createHash('sha256').update(code_verifier).digest('base64url');
    const nonce = 'our-nonce';
    const authorization_code = await issuedBySandbox({ nonce, code_challenge });
    expectAnswer(await send({ authorization_code, code_verifier, nonce }, app), 200, tokenResponse);
  });
});

test('a link takes the same parameters: it sends on a code_verifier and a redirect_uri of the settings, and holds to the nonce', async () => {
  const redirect_uri = 'https://app.example/callback';
  const exchange = {
    client_secret: 'our secret',
    redirect_uris: ['https://app.example', redirect_uri],
  };
  const { scene, app } = await setUpAt(byIdToken({}, exchange));
  issueIdToken(scene, { nonce: 'n' });
  await service.setProvider(app, 'provider_f', await demoSettings(service, 'provider_f'));
  const { account } = await newPerson(service, unique('alice'), app);
  const link = (more: object) =>
    account.link({ provider: 'provider_b', authorization_code: 'a-code', ...more });
  const elsewhere = await link({ redirect_uri: 'https://evil.example' });
  expectError(
    elsewhere,
    invalidRequest('The redirect_uri must be one of those in the provider settings.'),
  );
  expectError(await link({ nonce: 'another' }), invalidGrant);
  const sent = { code_verifier: 'v'.repeat(43), redirect_uri };
  expect((await link({ ...sent, nonce: 'n' })).status).toBe(201);
  expect(scene.forms('token').at(-1)).toMatchObject(sent);
});

/**
 * @see
 *   https://docs.github.com/en/apps/oauth-apps/maintaining-oauth-apps/troubleshooting-oauth-app-access-token-request-errors
 */
const badCode = {
  error: 'bad_verification_code',
  error_description: 'The code passed is incorrect or expired.',
};
const badClient = {
  error: 'incorrect_client_credentials',
  error_description: 'The client_id and/or client_secret passed are incorrect.',
};

test.each<[PresetName, number, { error: string }, { status: number; error: string }]>([
  ['github', 200, badCode, invalidGrant],
  ['github', 200, badClient, unknownError],
  // https://developer.apple.com/documentation/signinwithapplerestapi/errorresponse
  ['apple', 400, { error: 'invalid_grant' }, invalidGrant],
  ['apple', 400, { error: 'invalid_client' }, unknownError],
  ['apple', 400, { error: 'unauthorized_client' }, unknownError],
])(
  'an error of a code exchange that %s has published: %i %j',
  async (preset, status, body, outcome) => {
    const { settings } = Object(
      applyPreset(preset, 'provider_b', {
        'app-id': [ourApp],
        'team-id': 'our-team',
        'key-id': 'our-key',
        'app-secret': privateKey,
        'redirect-uri': ['https://app.example/callback'],
      }),
    );
    const { scene, sendCode } = await setUpAt(({ url }) => ({
      ...settings,
      authorization_code: { ...settings.authorization_code, token_url: `${url}/token` },
    }));
    scene.answer('token', { status, body });
    expectError(await sendCode(), outcome);
    expect(scene.calls('token')).toBe(1);
  },
);

test('the client secret that we sign for Apple is a JWT as its documentation has it, valid for minutes', async () => {
  const { scene, sendCode } = await setUpAt(byIdToken({}, { client_secret_jwt }));
  issueIdToken(scene);
  expectAnswer(await sendCode(), 200, tokenResponse);
  const [{ client_id, client_secret = '' } = {}] = scene.forms('token');
  expect(client_id).toBe(ourApp);
  const { payload, protectedHeader } = await jwtVerify(client_secret, createPublicKey(privateKey));
  expect(protectedHeader).toEqual({ alg: 'ES256', kid: client_secret_jwt.key_id });
  expect(payload).toEqual({
    iss: client_secret_jwt.team_id,
    sub: ourApp,
    aud: 'https://appleid.apple.com',
    iat: expect.any(Number),
    exp: Number(payload.iat) + 300,
  });
  expect(Math.abs(Number(payload.iat) - Date.now() / 1000)).toBeLessThan(60);
});
