import { describe, expect, test } from '@jest/globals';
import { expectError } from '../support/expectations.ts';
import { logLines } from '../support/log-lines.ts';
import { createClient } from '../support/login-app.ts';
import { newGrants, newKeeper } from '../support/provider-access.ts';
import { ourApp, startProviderStandIn } from '../support/provider-stand-in.ts';
import { unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import { byId, exchangeOfId } from '../support/token-exchange.ts';

const { service, running } = await sharedServiceWithStore();
const standIn = await startProviderStandIn();

const hours = 3600;
const tooLong = {
  status: 400,
  error: 'invalid_target',
  naming:
    'The access tokens of provider_b last longer than an hour. An operator can allow that by long_lived_tokens in its settings, beside keep_tokens.',
};
const offline = { rights: byId };

describe('an access token that the provider lets live for eight hours', () => {
  test('is not handed out, and the error names the setting', async () => {
    const grants = newGrants({ lifetime: 8 * hours });
    const { logIn, exchangeById } = await newKeeper(service, standIn, { grants, ...offline });
    const { loginUserId } = await logIn();
    const answer = await exchangeById(loginUserId);
    expectError(answer, tooLong);
    expect(answer.text).not.toContain('provider-access-');
    expect(logLines(running)).toContainEqual(
      expect.objectContaining({
        request_id: answer.headers.get('x-request-id'),
        reason: 'provider_token_long_lived',
      }),
    );
  });

  test('is handed out when an hour or less is left; the next one is refused, and nothing is lost', async () => {
    const grants = newGrants({ lifetime: 8 * hours, rotates: true });
    const { logIn, exchangeById, set } = await newKeeper(service, standIn, { grants, ...offline });
    const { loginUserId } = await logIn();
    const exchangeAfter = async (seconds: number) => {
      running.resetClock();
      running.advance(seconds);
      return exchangeById(loginUserId);
    };
    expectError(await exchangeAfter(7 * hours - 60), tooLong);
    const first = await exchangeAfter(7 * hours);
    expect(first.status).toBe(200);
    expect(first.body.expires_in).toBeLessThanOrEqual(3600);
    expect(grants.refreshes).toBe(0);

    // The refresh token rotates, although nobody gets the access token.
    expectError(await exchangeAfter(8 * hours), tooLong);
    expectError(await exchangeAfter(8 * hours), tooLong);
    expect(grants.refreshes).toBe(1);
    expect((await exchangeAfter(15 * hours)).status).toBe(200);
    await set({ long_lived_tokens: true });
    expect((await exchangeAfter(16 * hours)).body.expires_in).toBeGreaterThan(7 * hours);
    expect(grants.refreshes).toBe(2);
    running.resetClock();
  });

  test('is handed out with long_lived_tokens, and no longer when it is taken out', async () => {
    const grants = newGrants({ lifetime: 8 * hours });
    const settings = { long_lived_tokens: true };
    const made = await newKeeper(service, standIn, { grants, settings, ...offline });
    const { logIn, exchangeById, set } = made;
    const { loginUserId } = await logIn();
    const answer = await exchangeById(loginUserId);
    expect(answer.status).toBe(200);
    expect(answer.body.expires_in).toBeGreaterThan(7 * hours);
    await set({ long_lived_tokens: false });
    expectError(await exchangeById(loginUserId), tooLong);
    // What is kept stays kept.
    await set();
    expect((await exchangeById(loginUserId)).status).toBe(200);
  });

  test('is judged by the issuer whose code it came for', async () => {
    const { app } = await newKeeper(service, standIn);
    const grants = newGrants({ lifetime: 90 * 60 });
    const issuers = [{ long_lived_tokens: true }, {}].map((more) => {
      const scene = standIn.openScene();
      const code_exchange = {
        token_url: `${scene.url}/token`,
        client_id: ourApp,
        client_secret: 'our-secret',
        keep_tokens: true,
        ...more,
      };
      return { scene, settings: { issuer: scene.url, audiences: [ourApp], code_exchange } };
    });
    await service.setProvider(app, 'provider_f', {
      issuers: issuers.map(({ settings }) => settings),
    });
    const server = await createClient(service, app.login_app_id, byId);
    const outcomes = await Promise.all(
      issuers.map(async ({ scene }) => {
        const id_token = await scene.idToken({ sub: unique('bob') });
        scene.answer('token', async () => ({ body: { ...grants.begin(), id_token } }));
        const code = { authorization_code: 'a-code' };
        const { access_token } = (await service.byIdToken(id_token, app, code)).body;
        const { sub } = (await service.introspect(access_token, app)).body;
        return service.token(exchangeOfId(sub, scene.url), server);
      }),
    );
    expect(outcomes.map(({ status, body }) => [status, body.error])).toEqual([
      [200, undefined],
      [400, 'invalid_target'],
    ]);
  });
});

test.each<[string, number | undefined]>([
  ['of an hour', 3600],
  ['of no lifetime, which counts as five minutes', undefined],
])('a token %s counts as short', async (_, lifetime) => {
  const grants = newGrants({ lifetime });
  const { logIn, exchangeById } = await newKeeper(service, standIn, { grants, ...offline });
  const { loginUserId } = await logIn();
  expect((await exchangeById(loginUserId)).status).toBe(200);
});

describe('the setting long_lived_tokens', () => {
  test('must stand beside keep_tokens', async () => {
    const { set } = await newKeeper(service, standIn);
    for (const keep_tokens of [false, undefined])
      await expect(set({ keep_tokens, long_lived_tokens: true })).rejects.toThrow(
        'authorization_code.long_lived_tokens: is only for keep_tokens',
      );
    await expect(set({ long_lived_tokens: 'yes' })).rejects.toThrow('must be true or false');
  });

  test('is set with a preset by --long-lived-tokens, beside --keep-tokens', async () => {
    const { app } = await newKeeper(service, standIn);
    const flags = {
      'login-app': app.login_app_id,
      provider: 'provider_b',
      preset: 'github',
      'app-id': 'Iv1.abc',
      'app-secret': 'our-secret',
      'redirect-uri': 'https://app.example/callback',
      'long-lived-tokens': true,
    };
    await expect(service.operate('providers', 'set', flags)).rejects.toThrow(
      '--long-lived-tokens is only for --keep-tokens',
    );
    const { settings } = await service.operate('providers', 'set', {
      ...flags,
      'keep-tokens': true,
    });
    expect(settings).toMatchObject({
      authorization_code: { keep_tokens: true, long_lived_tokens: true },
    });
  });
});
