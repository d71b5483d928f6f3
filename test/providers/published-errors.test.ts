import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { applyPreset } from '../../lib/providers/presets/apply.ts';
import type { PresetName } from '../../lib/providers/presets/presets.ts';
import { logIn, prepareLogin } from '../support/provider-login.ts';
import { ourApp, startProviderStandIn } from '../support/provider-stand-in.ts';
import { type Target, targets } from '../support/provider-targets.ts';
import { sharedService } from '../support/service.ts';

const service = sharedService();
const standIn = await startProviderStandIn();

/** Apple signs with a private key where others have a secret. */
const { privateKey } = generateKeyPairSync('ec', {
  namedCurve: 'prime256v1',
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});

/** The code exchange with the settings of a preset, except for where the token endpoint is. */
const exchangeOf = (preset: PresetName): Target => ({
  ...targets.codeExchange,
  settings: (address) => {
    const { settings } = Object(
      applyPreset(preset, 'provider_b', {
        appIds: [ourApp],
        appSecret: privateKey,
        teamId: 'our-team',
        keyId: 'our-key',
        redirectUris: ['https://app.example/callback'],
      }),
    );
    return {
      ...settings,
      authorization_code: { ...settings.authorization_code, token_url: address('token') },
    };
  },
});

const codeRejected = { status: 400, error: 'invalid_grant' };
const unknownError = { status: 500, error: 'internal_server_error' };

/** @see https://docs.github.com/en/apps/oauth-apps/maintaining-oauth-apps/troubleshooting-oauth-app-access-token-request-errors */
const github = (error: string, error_description: string) => ({
  error,
  error_description,
  error_uri: `/apps/managing-oauth-apps/troubleshooting-oauth-app-access-token-request-errors/#${error.replaceAll('_', '-')}`,
});

describe('the errors of a code exchange that providers have published', () => {
  test.each<[PresetName, number, { error: string }, object]>([
    [
      'github',
      200,
      github('bad_verification_code', 'The code passed is incorrect or expired.'),
      codeRejected,
    ],
    [
      'github',
      200,
      github('incorrect_client_credentials', 'The client_id and/or client_secret passed are incorrect.'),
      unknownError,
    ],
    // https://developer.apple.com/documentation/signinwithapplerestapi/errorresponse
    ['apple', 400, { error: 'invalid_grant' }, codeRejected],
    ['apple', 400, { error: 'invalid_client' }, unknownError],
    ['apple', 400, { error: 'unauthorized_client' }, unknownError],
  ])('%s, %i %j', async (preset, status, body, outcome) => {
    const scene = standIn.openScene();
    scene.answer('token', { status, body });
    const login = await logIn(service, await prepareLogin(service, scene, exchangeOf(preset)));
    expect({ status: login.status, error: login.error }).toEqual(outcome);
    expect(scene.calls('token')).toBe(1);
  });
});
