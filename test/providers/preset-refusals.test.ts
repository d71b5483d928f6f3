import { createHmac } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import type { ProviderId } from '../../lib/providers/provider-ids.ts';
import { applyPreset } from '../../lib/providers/set-up/apply-preset.ts';
import { type PresetName, presetNames } from '../../lib/providers/set-up/presets.ts';
import { logLine } from '../support/log-lines.ts';
import { createLoginApp } from '../support/login-app.ts';
import { privateKey, type Scene, startProviderStandIn } from '../support/provider-stand-in.ts';
import { sharedLog, sharedService, unique } from '../support/service.ts';

const service = sharedService();
const running = sharedLog();
const standIn = await startProviderStandIn();

const tenant = '9188040d-6c67-4c5b-b112-36a304b66dad';
const appSecret = privateKey;

/** Answers by the address of the endpoint, without its scheme and query. */
type Answers = Record<string, [status: number, body: object]>;

/** A Login App with a preset whose addresses lead to a scene. */
async function setUp(scene: Scene, preset: PresetName, provider: ProviderId) {
  const { settings } = Object(
    applyPreset(preset, provider, {
      'app-id': ['our-app'],
      'app-secret': appSecret,
      'redirect-uri': ['https://app.example/callback'],
      tenant,
      'team-id': 'our-team',
      'key-id': 'our-key',
    }),
  );
  const atScene = JSON.stringify(settings)
    .replaceAll('https://', `${scene.url}/`)
    .replace(`${scene.url}/app.example`, 'https://app.example');
  const app = await createLoginApp(service, unique('app'));
  await service.setProvider(app, provider, JSON.parse(atScene));
  return app;
}

/** What a login by a preset ends in, and what the log says of it. */
async function logInWhen(preset: PresetName, credential: 'code' | 'token', answers: Answers) {
  const scene = standIn.openScene();
  for (const [endpoint, [status, body]] of Object.entries(answers))
    scene.answer(endpoint, { status, body });
  const provider = preset === 'twitter' ? 'provider_c' : 'provider_b';
  const app = await setUp(scene, preset, provider);
  const bound = preset === 'x' ? { code_verifier: 'v'.repeat(43) } : {};
  const sent =
    credential === 'code'
      ? { grant_type: 'provider_authorization_code', authorization_code: 'a-code', ...bound }
      : { grant_type: 'provider_credentials', access_token: 'a-token' };
  const secret = preset === 'twitter' ? { access_secret: 'its-secret' } : {};
  const { status, body, headers } = await service.token({ provider, ...sent, ...secret }, app);
  return { scene, status, error: body.error, request_id: headers.get('x-request-id') };
}

const facebookError = (code: number, message: string, type = 'OAuthException') => ({
  error: { message, type, code, fbtrace_id: 'AYvBzLgkiUVGsr1NNTn7LSC' },
});
const twitchError = (status: number, message: string) => ({ status, message });
const xProblem = (status: number, title: string, kind: string) => ({
  title,
  detail: title,
  type: `https://api.x.com/2/problems/${kind}`,
  status,
});

const facebook = {
  me: 'graph.facebook.com/me',
  debug: 'graph.facebook.com/debug_token',
  token: 'graph.facebook.com/oauth/access_token',
};
const google = {
  user: 'openidconnect.googleapis.com/v1/userinfo',
  info: 'oauth2.googleapis.com/tokeninfo',
  token: 'oauth2.googleapis.com/token',
};
const github = {
  user: 'api.github.com/user',
  check: 'api.github.com/applications/our-app/token',
  token: 'github.com/login/oauth/access_token',
};
const line = {
  user: 'api.line.me/v2/profile',
  verify: 'api.line.me/oauth2/v2.1/verify',
  token: 'api.line.me/oauth2/v2.1/token',
};
const discord = {
  user: 'discord.com/api/v10/users/@me',
  me: 'discord.com/api/v10/oauth2/@me',
  token: 'discord.com/api/v10/oauth2/token',
};
const xMe = 'api.x.com/2/users/me';
const xToken = 'api.x.com/2/oauth2/token';
const appleToken = 'appleid.apple.com/auth/token';
const microsoftToken = `login.microsoftonline.com/${tenant}/oauth2/v2.0/token`;
const twitchToken = 'id.twitch.tv/oauth2/token';
const linkedinToken = 'www.linkedin.com/oauth/v2/accessToken';
const kakaoToken = 'kauth.kakao.com/oauth/token';

const facebookGood: Answers = {
  [facebook.me]: [200, { id: '7' }],
  [facebook.debug]: [200, { data: { app_id: 'our-app', is_valid: true, user_id: '7' } }],
};
const facebookInvalid = facebookError(190, 'Invalid OAuth access token.');
const unauthorized = { title: 'Unauthorized', type: 'about:blank', status: 401 };
const linkedinRefusal =
  'Unable to retrieve access token: appid/redirect uri/code verifier does not match authorization code. Or authorization code expired. Or external member binding exists';

describe('the refusal of a credential, as the provider documents it, is a 400', () => {
  type Row = [PresetName, what: string, 'code' | 'token', Answers, reason: string];
  const refusals: Row[] = [
    [
      'facebook',
      'used',
      'code',
      { [facebook.token]: [400, facebookError(100, 'This authorization code has been used.')] },
      'code_refused',
    ],
    [
      'facebook',
      'wrong',
      'code',
      { [facebook.token]: [400, facebookError(100, 'Invalid verification code format.')] },
      'code_refused',
    ],
    [
      'facebook',
      'revoked',
      'token',
      {
        [facebook.me]: [400, facebookInvalid],
        [facebook.debug]: [
          200,
          { data: { is_valid: false, app_id: 'our-app', error: { code: 190, subcode: 458 } } },
        ],
      },
      'token_invalid',
    ],
    [
      'facebook',
      'of another app',
      'token',
      {
        [facebook.me]: [
          400,
          facebookError(
            100,
            'Invalid appsecret_proof provided in the API argument',
            'GraphMethodException',
          ),
        ],
        [facebook.debug]: [
          400,
          facebookError(100, '(#100) The App_id in the input_token did not match the Viewing App'),
        ],
      },
      'token_info_refused',
    ],
    [
      'google',
      'used',
      'code',
      { [google.token]: [400, { error: 'invalid_grant', error_description: 'Bad Request' }] },
      'code_refused',
    ],
    [
      'google',
      'wrong',
      'code',
      {
        [google.token]: [
          400,
          { error: 'invalid_grant', error_description: 'Malformed auth code.' },
        ],
      },
      'code_refused',
    ],
    [
      'google',
      'revoked',
      'token',
      {
        [google.info]: [400, { error: 'invalid_token', error_description: 'Invalid Value' }],
        [google.user]: [
          401,
          { error: 'invalid_request', error_description: 'Invalid Credentials' },
        ],
      },
      'token_info_refused',
    ],
    ['twitter', 'revoked', 'token', { [xMe]: [401, unauthorized] }, 'verification_refused'],
    [
      'x',
      'used or wrong',
      'code',
      {
        [xToken]: [
          400,
          {
            error: 'invalid_request',
            error_description: 'Value passed for the authorization code was invalid.',
          },
        ],
      },
      'code_refused',
    ],
    [
      'github',
      'used or wrong',
      'code',
      {
        [github.token]: [
          200,
          {
            error: 'bad_verification_code',
            error_description: 'The code passed is incorrect or expired.',
          },
        ],
      },
      'code_refused',
    ],
    [
      'github',
      'of an unverified address',
      'code',
      { [github.token]: [200, { error: 'unverified_user_email' }] },
      'code_refused',
    ],
    [
      'github',
      'revoked',
      'token',
      {
        [github.check]: [404, { message: 'Not Found' }],
        [github.user]: [401, { message: 'Bad credentials' }],
      },
      'token_info_refused',
    ],
    [
      'line',
      'used or wrong',
      'code',
      {
        [line.token]: [
          400,
          { error: 'invalid_grant', error_description: 'invalid authorization code' },
        ],
      },
      'code_refused',
    ],
    [
      'line',
      'revoked',
      'token',
      {
        [line.verify]: [
          400,
          { error: 'invalid_request', error_description: 'access token expired' },
        ],
        [line.user]: [401, { message: 'The access token expired' }],
      },
      'token_info_refused',
    ],
    [
      'apple',
      'used',
      'code',
      {
        [appleToken]: [
          400,
          { error: 'invalid_grant', error_description: 'The code has already been used.' },
        ],
      },
      'code_refused',
    ],
    [
      'apple',
      'wrong',
      'code',
      {
        [appleToken]: [
          400,
          {
            error: 'invalid_grant',
            error_description: 'The code has expired or has been revoked.',
          },
        ],
      },
      'code_refused',
    ],
    [
      'microsoft',
      'used',
      'code',
      { [microsoftToken]: [400, { error: 'invalid_grant', error_codes: [54005] }] },
      'code_refused',
    ],
    [
      'microsoft',
      'wrong',
      'code',
      { [microsoftToken]: [400, { error: 'invalid_grant', error_codes: [9002313] }] },
      'code_refused',
    ],
    [
      'microsoft',
      'without a second factor',
      'code',
      { [microsoftToken]: [400, { error: 'interaction_required', error_codes: [50076] }] },
      'code_refused',
    ],
    [
      'discord',
      'used or wrong',
      'code',
      {
        [discord.token]: [
          400,
          { error: 'invalid_grant', error_description: 'Invalid "code" in request.' },
        ],
      },
      'code_refused',
    ],
    [
      'discord',
      'revoked',
      'token',
      {
        [discord.me]: [401, { message: '401: Unauthorized', code: 0 }],
        [discord.user]: [401, { message: '401: Unauthorized', code: 0 }],
      },
      'token_info_refused',
    ],
    [
      'twitch',
      'used or wrong',
      'code',
      { [twitchToken]: [400, twitchError(400, 'Invalid authorization code')] },
      'code_refused',
    ],
    [
      'linkedin',
      'used or wrong',
      'code',
      { [linkedinToken]: [400, { error: 'invalid_request', error_description: linkedinRefusal }] },
      'code_refused',
    ],
    [
      'kakao',
      'used or wrong',
      'code',
      { [kakaoToken]: [400, { error: 'invalid_grant', error_code: 'KOE320' }] },
      'code_refused',
    ],
  ];

  test.each(refusals)('%s: %s %s', async (preset, _, credential, answers, reason) => {
    const { status, error, request_id } = await logInWhen(preset, credential, answers);
    expect([status, error]).toEqual([400, 'invalid_grant']);
    expect(await logLine(running, 'token_refused', { request_id })).toMatchObject({ reason });
  });

  test('each preset that takes codes or access tokens is among them', () => {
    // Two have id tokens alone, and one has the codes of `microsoft`.
    const left = ['facebook-limited', 'oidc', 'microsoft-any'];
    const others = presetNames.filter((name) => !left.includes(name));
    expect(new Set(refusals.map(([name]) => name))).toEqual(new Set(others));
  });
});

describe('a fault of our app is none of the person: 500, and the log has provider_failed', () => {
  const proof = facebookError(
    100,
    'API calls from the server require an appsecret_proof argument',
    'GraphMethodException',
  );
  const invalidClient = { error: 'invalid_client' };
  const forbidden = {
    ...xProblem(403, 'Client Forbidden', 'client-forbidden'),
    reason: 'client-not-enrolled',
  };
  type Row = [PresetName, what: string, 'code' | 'token', Answers, code?: string];

  test.each<Row>([
    ['facebook', 'no proof', 'token', { ...facebookGood, [facebook.me]: [400, proof] }],
    [
      'facebook',
      'unknown app',
      'token',
      {
        ...facebookGood,
        [facebook.me]: [400, facebookError(101, 'Error validating application.')],
      },
    ],
    [
      'facebook',
      'wrong secret',
      'token',
      {
        [facebook.debug]: [400, facebookError(190, 'Invalid OAuth access token signature.')],
        [facebook.me]: [
          400,
          facebookError(
            100,
            'Invalid appsecret_proof provided in the API argument',
            'GraphMethodException',
          ),
        ],
      },
    ],
    [
      'facebook',
      'wrong secret',
      'code',
      { [facebook.token]: [400, facebookError(1, 'Error validating client secret.')] },
    ],
    ['google', 'deleted app', 'code', { [google.token]: [401, { error: 'deleted_client' }] }],
    [
      'google',
      'wrong secret',
      'code',
      { [google.token]: [401, invalidClient] },
      'refused_our_credentials',
    ],
    ['twitter', 'app in no project', 'token', { [xMe]: [403, forbidden] }],
    ['twitter', 'no credits', 'token', { [xMe]: [402, { title: 'CreditsDepleted' }] }],
    [
      'x',
      'wrong secret',
      'code',
      {
        [xToken]: [
          401,
          { error: 'unauthorized_client', error_description: 'Missing valid authorization header' },
        ],
      },
    ],
    ['x', 'app in no project', 'code', { [xMe]: [403, forbidden] }],
    [
      'github',
      'wrong secret',
      'code',
      { [github.token]: [200, { error: 'incorrect_client_credentials' }] },
    ],
    [
      'github',
      'unregistered callback address',
      'code',
      { [github.token]: [200, { error: 'redirect_uri_mismatch' }] },
    ],
    ['github', 'unknown app', 'code', { [github.token]: [404, { error: 'Not Found' }] }],
    [
      'line',
      'wrong secret',
      'code',
      { [line.token]: [400, invalidClient] },
      'refused_our_credentials',
    ],
    [
      'apple',
      'wrong key',
      'code',
      { [appleToken]: [400, invalidClient] },
      'refused_our_credentials',
    ],
    [
      'apple',
      'grant not allowed',
      'code',
      { [appleToken]: [400, { error: 'unauthorized_client' }] },
    ],
    [
      'microsoft',
      'unknown app',
      'code',
      { [microsoftToken]: [400, { error: 'unauthorized_client', error_codes: [700016] }] },
    ],
    [
      'microsoft',
      'wrong secret',
      'code',
      { [microsoftToken]: [401, invalidClient] },
      'refused_our_credentials',
    ],
    [
      'discord',
      'wrong secret',
      'code',
      { [discord.token]: [401, invalidClient] },
      'refused_our_credentials',
    ],
    ['twitch', 'unknown app', 'code', { [twitchToken]: [400, twitchError(400, 'invalid client')] }],
    [
      'twitch',
      'wrong secret',
      'code',
      { [twitchToken]: [403, twitchError(403, 'invalid client secret')] },
    ],
    [
      'linkedin',
      'wrong secret',
      'code',
      { [linkedinToken]: [401, invalidClient] },
      'refused_our_credentials',
    ],
    [
      'kakao',
      'wrong secret',
      'code',
      { [kakaoToken]: [401, { ...invalidClient, error_code: 'KOE010' }] },
      'refused_our_credentials',
    ],
  ])('%s: %s, with a %s', async (preset, _, credential, answers, code = 'refused_our_app') => {
    const { status, error, request_id } = await logInWhen(preset, credential, answers);
    expect([status, error]).toEqual([500, 'internal_server_error']);
    const { failure } = await logLine(running, 'provider_failed', { request_id });
    expect(failure).toMatchObject({ code });
  });
});

test.each([4, 17, 32, 341, 613])(
  "Facebook's limit %i is a 429, and the log has provider_gave_no_verdict",
  async (code) => {
    const limit = facebookError(code, 'Application request limit reached');
    const answers: Answers = { ...facebookGood, [facebook.me]: [400, limit] };
    const { status, request_id } = await logInWhen('facebook', 'token', answers);
    expect(status).toBe(429);
    const { failure } = await logLine(running, 'provider_gave_no_verdict', { request_id });
    expect(failure).toMatchObject({ code: 'throttled' });
  },
);

test('Facebook gets the proof that a call is by our app, and no other address does', async () => {
  const scene = standIn.openScene();
  const asked: string[] = [];
  for (const [endpoint, [, body]] of Object.entries(facebookGood))
    scene.misbehave(endpoint, ({ url = '' }, response) => {
      asked.push(url.slice(url.indexOf('graph.facebook.com')));
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(JSON.stringify(body));
    });
  const app = await setUp(scene, 'facebook', 'provider_b');
  const form = {
    grant_type: 'provider_credentials',
    provider: 'provider_b',
    access_token: 'a-token',
  };
  expect((await service.token(form, app)).status).toBe(200);
  const proof = createHmac('sha256', appSecret).update('a-token').digest('hex');
  expect(asked).toContain(`graph.facebook.com/me?fields=id&appsecret_proof=${proof}`);
  expect(asked.filter((url) => url.includes('appsecret_proof'))).toHaveLength(1);
});

test('providers check says that Facebook requires the proof of an app', async () => {
  const scene = standIn.openScene();
  const text = 'API calls from the server require an appsecret_proof argument';
  const body = facebookError(100, text, 'GraphMethodException');
  scene.answer(facebook.me, { status: 400, body });
  scene.answer(facebook.debug, { status: 200, body: { data: { is_valid: false } } });
  const refusal = facebookError(100, 'Invalid verification code format.');
  scene.answer(facebook.token, { status: 400, body: refusal });
  const { login_app_id } = await setUp(scene, 'facebook', 'provider_b');
  const { ok, checks } = await service.operate('providers', 'check', {
    'login-app': login_app_id,
    provider: 'provider_b',
  });
  expect(ok).toBe(false);
  expect(checks).toContainEqual({
    check: 'user info',
    ok: false,
    detail: `The provider rejects our app at ${scene.url}/${facebook.me} (400, 100), whoever the person is. Look at the app's settings at the provider.`,
  });
});
