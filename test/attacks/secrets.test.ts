import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { applyPreset } from '../../lib/providers/set-up/apply-preset.ts';
import { presetNames } from '../../lib/providers/set-up/presets.ts';
import { createClient, createLoginApp } from '../support/login-app.ts';
import { privateKey } from '../support/provider-stand-in.ts';
import { asClient, basic, unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';

const { running, service, proxy } = await sharedServiceWithStore();
const { demo } = service;

const dummy = (prefix: string, bytes: number): string =>
  `${prefix}_${randomBytes(bytes).toString('base64url')}`;
const device = { platform: 'android', token: unique('phone') };
const clientCredentials = { grant_type: 'client_credentials' };

/** Sends made-up credentials, one after the other, and returns what they made the store do. */
async function attempts(count: number, send: () => Promise<{ status: number }>) {
  proxy.forget();
  for (let number = 0; number < count; number += 1) expect((await send()).status).toBe(401);
  return proxy.calls();
}

/**
 * The same for guesses at one record: at most one read in a second, however long they take here.
 */
async function expectOneReadInASecond(guess: () => Promise<{ status: number }>): Promise<void> {
  const startedAt = performance.now();
  const calls = await attempts(20, guess);
  const seconds = Math.ceil((performance.now() - startedAt) / 1000);
  expect(calls.length).toBeLessThanOrEqual(1 + seconds);
}

describe('a made-up credential costs at most one small read', () => {
  const { login_app_id } = demo.login_app;
  const guesses: Record<
    string,
    (newId: (prefix: string) => string) => Promise<{ status: number }>
  > = {
    'a Login App Token, with the id of a Login App that stands in every token': (newId) =>
      service.register(device, `${login_app_id}.${newId('t')}.${dummy('las', 32)}`),
    'a client id of that Login App': (newId) =>
      service.token(clientCredentials, {
        ...demo.login_app,
        client_id: `${login_app_id}.${newId('c')}`,
      }),
    'an account id': (newId) =>
      service.search('', {
        account: { account_id: newId('ac'), account_secret: dummy('acs', 32) },
      }),
  };

  test.each(Object.entries(guesses))('[finding] %s', async (_, guess) => {
    const calls = await attempts(20, () => guess((prefix) => dummy(prefix, 16)));
    expect(calls.map(({ operation }) => operation)).toEqual(Array(20).fill('GetItem'));
    for (const { units, bytes } of calls) expect([units, bytes < 100]).toEqual([1, true]);
  });

  test('[finding] secrets of one client: one read in a second', async () => {
    await service.token(clientCredentials);
    const guess = () =>
      service.token(clientCredentials, { ...demo.login_app, client_secret: dummy('lcs', 32) });
    running.advance(2);
    await expectOneReadInASecond(guess);
    // The client itself is served from the cache meanwhile.
    proxy.forget();
    expect((await service.token(clientCredentials)).status).toBe(200);
    expect(proxy.calls()).toEqual([]);
    running.advance(1);
    await expectOneReadInASecond(guess);
  });

  test('[finding] secrets of one account: one read in a second', async () => {
    await service.search();
    running.advance(2);
    const guess = () =>
      service.search('', { account: { ...demo.account, account_secret: dummy('acs', 32) } });
    await expectOneReadInASecond(guess);
  });

  test('[finding] secrets of one long-lived Login App Token: one read in a second', async () => {
    const flags = { 'login-app': login_app_id, name: 'app' };
    const { login_app_token } = await service.operate('login-apps', 'tokens create', flags);
    const token = String(login_app_token);
    const registers = async () => (await service.register(device, token)).status;
    expect(await registers()).toBeLessThan(300);
    const guess = () => service.register(device, token.replace(/las_.*/, dummy('las', 32)));
    await expectOneReadInASecond(guess);
    // The token itself is served from the cache meanwhile: only the device is written.
    proxy.forget();
    expect(await registers()).toBeLessThan(300);
    expect(proxy.calls().map(({ operation }) => operation)).not.toContain('GetItem');
    running.advance(1);
    await expectOneReadInASecond(guess);
  });

  test.each(Object.entries(guesses))(
    '[finding] %s, the same each time: one read in a second',
    async (_, guess) => {
      const id = randomBytes(16).toString('base64url');
      await expectOneReadInASecond(() => guess((prefix) => `${prefix}_${id}`));
    },
  );
});

describe('guesses do not keep out those who have a right', () => {
  test('[finding] a client, an account and a Login App Token that were just created work at once', async () => {
    const app = await createLoginApp(service, unique('app'));
    await attempts(3, () =>
      service.token(clientCredentials, { ...app, client_secret: dummy('lcs', 32) }),
    );
    const client = await createClient(service, app.login_app_id);
    expect((await service.token(clientCredentials, client)).status).toBe(200);
    const { login_app_token } = await service.operate('login-apps', 'tokens create', {
      'login-app': demo.login_app.login_app_id,
      name: 'app',
    });
    expect((await service.register(device, String(login_app_token))).status).toBeLessThan(300);
  });

  test('[finding] a secret that was just rotated works at once, and during an attack within a second', async () => {
    const app = await createLoginApp(service, unique('app'));
    expect((await service.token(clientCredentials, app)).status).toBe(200);
    const flags = { 'login-app': app.login_app_id, client: app.client_id };
    const { client_secret } = await service.operate('clients', 'rotate', flags);
    const renewed = { ...app, client_secret: String(client_secret) };
    expect((await service.token(clientCredentials, renewed)).status).toBe(200);
    await attempts(3, () =>
      service.token(clientCredentials, { ...app, client_secret: dummy('lcs', 32) }),
    );
    running.advance(1);
    expect((await service.token(clientCredentials, renewed)).status).toBe(200);
  });
});

describe('credentials of another kind or in another place are none', () => {
  const { client_id, client_secret } = demo.login_app;
  const form = new URLSearchParams(clientCredentials);
  const issue = (authorization: string, body = form) =>
    service.call('/v2/marketing/oauth/token', { method: 'POST', headers: { authorization }, body });

  test('[RFC 6749 2.3] a client in the form beside another in the header: the header alone counts', async () => {
    const { other_login_app } = demo;
    const body = new URLSearchParams({ ...clientCredentials, ...other_login_app });
    const answer = await issue(basic(client_id, client_secret), body);
    expect(decodeJwt(answer.body.access_token)).toMatchObject({
      client_id,
      aud: demo.login_app.login_app_id,
    });
    const wrong = await issue(basic(client_id, 'wrong'), body);
    expect(wrong.status).toBe(401);
  });

  test('[RFC 6749 2.3.1] a client in the query', async () => {
    const query = new URLSearchParams({ client_id, client_secret });
    const { status } = await service.call(`/v2/marketing/oauth/token?${query}`, {
      method: 'POST',
      body: form,
    });
    expect(status).toBe(401);
  });

  test('[RFC 9110 5.3] two Authorization headers, a right one and a wrong one', async () => {
    const right = basic(client_id, client_secret);
    for (const pair of [
      [right, basic(client_id, 'x')],
      [basic(client_id, 'x'), right],
      [right, right],
    ]) {
      expect(await statusOfRaw(pair)).toBe(401);
    }
    expect(await statusOfRaw([right])).toBe(200);
  });

  /** Sends each header on a line of its own, which `fetch` would join. */
  const statusOfRaw = async (authorization: string[]): Promise<number | undefined> => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const raw = request(`${demo.base_url}/v2/marketing/oauth/token`, { method: 'POST', headers });
    raw.setHeader('authorization', authorization);
    const [response]: IncomingMessage[] = await once(raw.end(form.toString()), 'response');
    return response?.resume().statusCode;
  };

  test('[finding] a stored hash is no secret', async () => {
    const hash = createHash('sha256').update(client_secret).digest('base64url');
    for (const password of [hash, `lcs_${hash}`])
      expect((await issue(basic(client_id, password))).status).toBe(401);
  });

  test('[CWE-204] an unknown client and a wrong secret are answered alike', async () => {
    const unknown = await issue(
      basic(`${demo.login_app.login_app_id}.${dummy('c', 16)}`, dummy('lcs', 32)),
    );
    const wrong = await issue(basic(client_id, dummy('lcs', 32)));
    expect([unknown.status, unknown.text]).toEqual([wrong.status, wrong.text]);
  });
});

describe('the list of providers', () => {
  const options = {
    'app-id': ['our-app-id'],
    'app-secret': privateKey,
    'redirect-uri': ['https://app.example/callback'],
    tenant: '9188040d-6c67-4c5b-b112-36a304b66dad',
    'team-id': 'our-team-id',
    'key-id': 'our-key-id',
    issuer: 'https://login.example',
  };
  const list = (client = demo.login_app, query = '') =>
    service.call(`/v2/marketing/providers${query}`, { headers: asClient(client) });
  /** The companies whose presets have another name. */
  const companies: Record<string, string> = {
    'microsoft-any': 'microsoft',
    twitter: 'x',
    'facebook-limited': 'facebook',
    oidc: options.issuer,
  };

  test.each(presetNames)(
    '[OWASP API3 2023] holds no secret, app id or address of %s',
    async (name) => {
      const app = await createLoginApp(service, unique('app'));
      const set: object[] = [];
      for (const provider of ['provider_b', 'provider_c', 'provider_f'] as const) {
        const applied = applyPreset(name, provider, options);
        if ('problems' in applied) continue;
        const flags = { 'login-app': app.login_app_id, provider, settings: applied.settings };
        await service.operate('providers', 'set', flags);
        set.push(applied.settings);
      }
      const { body, text } = await list(app);
      const provider = {
        companies: [expect.stringMatching(new RegExp(`^${companies[name] ?? name}$`, 'i'))],
      };
      expect(body.providers).toMatchObject(set.map(() => provider));
      // All other texts are choices or names of fields.
      const hidden = new Set(
        textsIn(set).filter((one) => /^our-|PRIVATE KEY|^https:|\./.test(one)),
      );
      for (const { issuers } of body.providers)
        for (const { issuer } of issuers) hidden.delete(issuer);
      expect(hidden).toContain('our-app-id');
      for (const one of hidden) expect(text).not.toContain(JSON.stringify(one).slice(1, -1));
    },
  );

  test('[OWASP API1 2023] a client sees the providers of its own Login App alone', async () => {
    const app = await createLoginApp(service, unique('app'), { providers: ['provider_a'] });
    const { body: others } = await list();
    expect(others.providers.length).toBeGreaterThan(1);
    for (const query of ['', `?login_app_id=${demo.login_app.login_app_id}`]) {
      expect((await list(app, query)).body.providers).toMatchObject([{ provider: 'provider_a' }]);
    }
    expect((await list({ ...demo.login_app, client_secret: app.client_secret })).status).toBe(401);
  });
});

/** Every text in a value, however deep. */
function textsIn(value: unknown): string[] {
  if (value instanceof Object) return Object.values(value).flatMap(textsIn);
  return typeof value === 'string' ? [value] : [];
}
