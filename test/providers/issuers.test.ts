import { beforeEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { expectAnswer, expectError, tokenResponse } from '../support/expectations.ts';
import { newIssuerLogin } from '../support/issuer-login.ts';
import { createLoginApp } from '../support/login-app.ts';
import { subOf } from '../support/people.ts';
import { ourApp, startProviderStandIn } from '../support/provider-stand-in.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();
const { byIdToken: send, credentials, operate } = service;
const standIn = await startProviderStandIn();

describe('provider_f with two issuers', () => {
  const idToken = async (query: Record<string, string>): Promise<string> =>
    (await credentials('provider_f', query)).id_token ?? '';

  test('id tokens of both log people in; the same subject of each is another Login User', async () => {
    const subject = unique('alice');
    const [first, second] = [
      await idToken({ subject }),
      await idToken({ subject, issuer: 'second' }),
    ];
    const answers = [await send(first), await send(second)];
    for (const answer of answers) expectAnswer(answer, 200, tokenResponse);
    expect(new Set(answers.map(subOf)).size).toBe(2);
  });

  test("one issuer's key does not sign for the other: 400 invalid_grant", async () => {
    const { iss } = decodeJwt(await idToken({ subject: 'alice', issuer: 'second' }));
    const forged = await idToken({ subject: unique('alice'), claims: JSON.stringify({ iss }) });
    expectError(await send(forged), { status: 400, error: 'invalid_grant' });
  });

  test("one issuer's audience does not count for the other: 400 invalid_grant", async () => {
    const [one, other] = [standIn.openScene(), standIn.openScene()];
    const app = await createLoginApp(service, unique('app'));
    const issuers = [
      { issuer: one.url, audiences: [ourApp] },
      { issuer: other.url, audiences: ['our-other-app'] },
    ];
    await service.setProvider(app, 'provider_f', { issuers });
    expect((await send(await one.idToken(), app)).status).toBe(200);
    expectError(await send(await other.idToken(), app), { status: 400, error: 'invalid_grant' });
    expect((await send(await other.idToken({ aud: 'our-other-app' }), app)).status).toBe(200);
  });

  test('an issuer may end in a slash: its discovery document is found', async () => {
    const scene = standIn.openScene();
    const issuer = `${scene.url}/`;
    const body = { issuer, jwks_uri: `${scene.url}/jwks` };
    scene.answer('.well-known/openid-configuration', { status: 200, body });
    const app = await createLoginApp(service, unique('app'));
    await service.setProvider(app, 'provider_f', { issuers: [{ issuer, audiences: [ourApp] }] });
    expectAnswer(await send(await scene.idToken({ iss: issuer }), app), 200, tokenResponse);
    expectError(await send(await scene.idToken(), app), { status: 400, error: 'invalid_grant' });
  });

  test.each([600, 7 * 86_400])(
    'an id token counts as long as the settings say: %d s',
    async (longest) => {
      const { app, scene } = await newIssuerLogin(service, standIn, { max_age_seconds: longest });
      const issued = (secondsAgo: number, expiresIn = 0) => {
        const iat = Math.floor(Date.now() / 1000) - secondsAgo;
        return scene.idToken({ iat, exp: iat + Math.max(86_400, longest + expiresIn) });
      };
      expect((await send(await issued(longest), app)).status).toBe(200);
      for (const tooLong of [await issued(longest + 90, 600), await issued(0, 86_401)])
        expectError(await send(tooLong, app), { status: 400, error: 'invalid_grant' });
    },
  );
});

describe('the issuers of provider_f, as an operator sets them', () => {
  let flags: { 'login-app': string; provider: string };
  const nonce = 'optional';
  const google = {
    issuer: 'https://accounts.google.com',
    jwks_uri: 'https://www.googleapis.com/oauth2/v3/certs',
    audiences: ['google-app'],
    nonce,
    nonce_form: 'plain',
  };
  const apple = {
    issuer: 'https://appleid.apple.com',
    jwks_uri: 'https://appleid.apple.com/auth/keys',
    audiences: ['apple-app'],
    nonce,
    nonce_form: 'sha256',
  };

  beforeEach(async () => {
    const { login_app_id } = await createLoginApp(service, unique('app'));
    flags = { 'login-app': login_app_id, provider: 'provider_f' };
  });

  const preset = (name: string, appId = `${name}-app`) =>
    operate('providers', 'set', { ...flags, preset: name, 'app-id': appId });
  const remove = (issuer?: string) =>
    operate('providers', 'remove', { ...flags, ...(issuer !== undefined && { issuer }) });
  const shown = async () =>
    Object((await operate('providers', 'show', flags)).providers).provider_f;

  test('a preset is added to what is there', async () => {
    await preset('google');
    await preset('apple');
    expect(await shown()).toEqual({ issuers: [google, apple] });
  });

  test('a preset that is there already gets the new audiences; its other settings stay', async () => {
    const { jwks_uri: _, nonce_form: __, ...set } = google;
    const required = { ...set, nonce: 'required' };
    await operate('providers', 'set', { ...flags, settings: { issuers: [required, apple] } });
    await preset('google', 'ios,web');
    expect(await shown()).toEqual({ issuers: [{ ...required, audiences: ['ios', 'web'] }, apple] });
  });

  test('any issuer is added by the preset oidc, and its keys where it names them', async () => {
    const issuer = 'https://accounts.example';
    const oidc = { ...flags, preset: 'oidc', issuer, 'app-id': 'us' };
    await preset('google');
    await operate('providers', 'set', { ...oidc, 'jwks-uri': 'https://keys.example/jwks' });
    const added = { issuer, jwks_uri: 'https://keys.example/jwks', audiences: ['us'], nonce };
    expect(await shown()).toEqual({ issuers: [google, added] });
    await operate('providers', 'set', { ...oidc, 'jwks-uri': 'https://keys.example/new' });
    expect(await shown()).toEqual({
      issuers: [google, { ...added, jwks_uri: 'https://keys.example/new' }],
    });
    await expect(
      operate('providers', 'set', { ...flags, preset: 'google', 'app-id': 'us', issuer }),
    ).rejects.toThrow('--issuer and --jwks-uri are for the preset oidc.');
  });

  test('presets set by many operators at once are all kept', async () => {
    const names = ['google', 'apple', 'twitch', 'linkedin', 'facebook-limited'];
    await Promise.all(names.map((name) => preset(name)));
    const { issuers } = await shown();
    expect(issuers).toHaveLength(names.length);
  });

  test('remove takes one away, in either spelling; without an issuer, it removes the provider', async () => {
    const about = { login_app_id: flags['login-app'], provider: 'provider_f' };
    const invalid = 'The settings of provider_f are invalid:';
    await preset('google');
    await preset('apple');
    await expect(remove('https://others.example')).rejects.toThrow(
      `${invalid} they do not have this issuer.`,
    );
    expect(await remove('accounts.google.com')).toEqual({
      ...about,
      settings: { issuers: [apple] },
    });
    await expect(remove(apple.issuer)).rejects.toThrow(
      `${invalid} this is their only issuer; leave out --issuer to remove them whole.`,
    );
    expect(await shown()).toEqual({ issuers: [apple] });
    expect(await remove()).toEqual({ ...about, settings: null });
    expect(await shown()).toBeUndefined();
    await expect(remove()).rejects.toThrow('The Login App has no provider_f; it has');
    await preset('apple');
    expect(await shown()).toEqual({ issuers: [apple] });
  });
});
