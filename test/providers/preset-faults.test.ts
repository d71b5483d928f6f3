import { createHmac } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import type { PresetName } from '../../lib/providers/set-up/presets.ts';
import { logLine } from '../support/log-lines.ts';
import {
  type Answers,
  appleToken,
  appSecret,
  discord,
  facebook,
  facebookError,
  facebookGood,
  github,
  google,
  kakaoToken,
  line,
  linkedinToken,
  microsoftToken,
  presetLogins,
  twitchError,
  twitchToken,
  xMe,
  xProblem,
  xToken,
} from '../support/preset-logins.ts';
import { sharedLog, sharedService } from '../support/service.ts';

const service = sharedService();
const running = sharedLog();
const { standIn, setUp, logInWhen } = await presetLogins(service);

describe('a fault of our app is none of the person: 500, and the log has provider_failed', () => {
  type Row = [PresetName, what: string, 'code' | 'token', Answers, code?: string];
  const proof = facebookError(
    100,
    'API calls from the server require an appsecret_proof argument',
    'GraphMethodException',
  );
  const invalidClient = { error: 'invalid_client' };
  /** A wrong secret of our app, at providers that answer as RFC 6749, section 5.2, says. */
  const wrongSecret = (preset: PresetName, token: string, status = 401): Row => [
    preset,
    'wrong secret',
    'code',
    { [token]: [status, invalidClient] },
    'refused_our_credentials',
  ];
  const forbidden = {
    ...xProblem(403, 'Client Forbidden', 'client-forbidden'),
    reason: 'client-not-enrolled',
  };
  test.each<Row>([
    wrongSecret('google', google.token),
    wrongSecret('line', line.token, 400),
    wrongSecret('microsoft', microsoftToken),
    wrongSecret('discord', discord.token),
    wrongSecret('linkedin', linkedinToken),
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
    ['twitch', 'unknown app', 'code', { [twitchToken]: [400, twitchError(400, 'invalid client')] }],
    [
      'twitch',
      'wrong secret',
      'code',
      { [twitchToken]: [403, twitchError(403, 'invalid client secret')] },
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
