import { describe, expect, test } from '@jest/globals';
import { type PresetName, presetNames } from '../../lib/providers/set-up/presets.ts';
import { logLine } from '../support/log-lines.ts';
import {
  type Answers,
  appleToken,
  discord,
  facebook,
  facebookError,
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
  xToken,
} from '../support/preset-logins.ts';
import { sharedLog, sharedService } from '../support/service.ts';

const running = sharedLog();
const { logInWhen } = await presetLogins(sharedService());

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
