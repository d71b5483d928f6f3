import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { securityEvents } from '../../lib/providers/notifications/security-events.ts';
import { writtenDuring } from '../support/log-lines.ts';
import { createLoginApp } from '../support/login-app.ts';
import { accountOf, isIn, newPerson } from '../support/people.ts';
import { reply, startProviderStandIn } from '../support/provider-stand-in.ts';
import { unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';

const { service, running } = await sharedServiceWithStore();
const standIn = await startProviderStandIn();
const { demo, operate } = service;

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const private_key = privateKey.export({ type: 'pkcs8', format: 'pem' });
const keyFile = { client_email: 'risc@project.iam.gserviceaccount.com', private_key_id: 'k1' };
const keyFileWith = (private_key: unknown) => JSON.stringify({ ...keyFile, private_key });
const api = { 'service-account': keyFileWith(private_key), 'api-url': `${demo.sandbox_url}/risc` };
const flags = { provider: 'provider_f', preset: 'google', ...api };
const google = {
  provider: 'provider_f',
  preset: 'google',
  'app-id': '1234.apps.googleusercontent.com',
};

const subscribeAt = (id: string, more: object = {}) =>
  operate('providers', 'subscribe', { ...flags, 'login-app': id, ...more });

/** A Login App with Google. */
async function newApp(notifications: object = {}) {
  const { login_app_id: id } = await createLoginApp(service, unique('app'));
  await operate('providers', 'set', { ...google, 'login-app': id, notifications });
  return { id, subscribe: (more?: object) => subscribeAt(id, more) };
}

describe('providers subscribe', () => {
  test('registers the stream, shows it, and asks for an event that arrives', async () => {
    const login_app_id = demo.login_app.login_app_id;
    const told = { login_app_id, provider: 'provider_f' };
    const subscribe = (more?: object) => subscribeAt(login_app_id, more);
    const url = `${demo.base_url}/v2/marketing/providers/provider_f/notifications?login_app_id=${login_app_id}`;
    // The sandbox's provider_f sends the event in the place of Google, which the demo does not
    // know.
    const warnings = [expect.stringMatching(/until Google has the setting notifications/)];
    expect(await subscribe()).toEqual({ ...told, registered: true, url, warnings });
    const disabled = 'https://schemas.openid.net/secevent/risc/event-type/account-disabled';
    const stream = { delivery: { url }, events_requested: expect.arrayContaining([disabled]) };
    const shown = { ...told, stream, status: 'enabled', url, warnings: [] };
    expect(await subscribe({ status: true })).toEqual(shown);
    const asked = { ...told, requested: true, state: expect.stringMatching(/^[\w-]{36}$/) };
    const written = await writtenDuring(running, async () =>
      expect(await subscribe({ verify: true })).toEqual(asked),
    );
    expect(written).toMatch(/"event":"provider_event_ignored".*"kind":"verification"/);
  });

  test('calls Google as the service account, with a token for this API', async () => {
    const scene = standIn.openScene();
    const sent: unknown[] = [];
    scene.misbehave('v1beta/stream:update', (request, response) => {
      const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
      sent.push(decodeProtectedHeader(token), decodeJwt(token));
      reply(response, { body: {} });
    });
    const { subscribe } = await newApp();
    expect(await subscribe({ 'api-url': scene.url })).toMatchObject({
      registered: true,
      warnings: [],
    });
    const aud = 'https://risc.googleapis.com/google.identity.risc.v1beta.RiscManagementService';
    const { client_email: email } = keyFile;
    expect(sent).toMatchObject([
      { alg: 'RS256', kid: 'k1' },
      { iss: email, sub: email, aud },
    ]);
  });

  test('warns of a stream that goes elsewhere', async () => {
    const [one, other] = [await newApp(), await newApp()];
    await one.subscribe();
    expect((await other.subscribe({ status: true })).warnings).toEqual([
      expect.stringContaining(`go elsewhere than to ${demo.base_url}`),
    ]);
  });

  test.each<[string, object, RegExp]>([
    [
      'a key file that is none',
      { 'service-account': '{}' },
      /not the JSON key of a service account/,
    ],
    ['a key that is none', { 'service-account': keyFileWith('x') }, /not an RSA key/],
    ['both flags', { verify: true, status: true }, /either --verify or --status/],
    ['another preset', { preset: 'kakao' }, /--preset must be one of google/],
    [
      'an address without https',
      { 'api-url': 'http://risc.example' },
      /--api-url must be an https address/,
    ],
    ['an API that refuses', { 'api-url': `${demo.sandbox_url}/risc/x` }, /answers 404/],
    ['an API that is not there', { 'api-url': 'http://127.0.0.1:1' }, /no connection/],
  ])('an error for %s', async (_, more, message) => {
    const { subscribe } = await newApp();
    await expect(subscribe(more)).rejects.toThrow(message);
  });
});

describe('providers set --preset … --notifications', () => {
  const given = { on_unlinked: 'delete' };
  const preset = (name: string, provider: string) => ({
    preset: name,
    provider,
    'app-secret': 'our-secret',
  });
  const ofToken = { authorization_code: { id_token: { notifications: given } } };
  const set = async (more: object) => {
    const { login_app_id: id } = await createLoginApp(service, unique('app'));
    const common = { 'login-app': id, 'app-id': 'our-app', notifications: given };
    return operate('providers', 'set', { ...common, ...more });
  };

  test.each<[string, object, object]>([
    ['google', google, { issuers: [{ notifications: given }] }],
    ['kakao', preset('kakao', 'provider_b'), ofToken],
    [
      'facebook',
      preset('facebook', 'provider_a'),
      { notifications: { ...given, app_secret: '********' } },
    ],
  ])('%s: they become settings', async (_, flags, settings) => {
    expect(await set(flags)).toMatchObject({ settings });
  });

  test.each<[string, object, RegExp]>([
    [
      'github, which sends none',
      preset('github', 'provider_a'),
      /sends provider_a no notifications/,
    ],
    ['a wrong one', { ...google, notifications: { on_logout: 'delete' } }, /on_logout: must be/],
  ])('an error for %s', async (_, flags, message) => {
    await expect(set(flags)).rejects.toThrow(message);
  });

  test('without it, an issuer keeps what it has', async () => {
    const { id } = await newApp(given);
    const again = await operate('providers', 'set', { ...google, 'login-app': id });
    expect(again).toMatchObject({ settings: { issuers: [{ notifications: given }] } });
  });
});

describe('the sandbox sends', () => {
  const to = (provider: string) =>
    `${demo.base_url}/v2/marketing/providers/${provider}/notifications?login_app_id=${demo.login_app.login_app_id}`;
  const send = async (provider: string, query: Record<string, string>, address = to(provider)) => {
    const url = `${demo.sandbox_url}/${provider}/notifications?${new URLSearchParams({ to: address, ...query })}`;
    return (await (await fetch(url, { method: 'POST' })).json()) as Record<string, unknown>;
  };
  const events = new Set(securityEvents.map((uri) => uri.split('/').at(-1) ?? ''));
  test.each([...events, 'logout'])('%s', async (event) => {
    const { subject, account } = await newPerson(service);
    const { status } = await send('provider_f', { event, subject });
    expect(status).toBe(event === 'logout' ? 200 : 202);
    if (/logout|disabled|revoked|unlinked/.test(event)) expect(await isIn({ account })).toBe(false);
  });

  test.each(['deauthorize', 'data_deletion'])('%s, as Facebook does', async (event) => {
    const subject = unique('person');
    const { body } = await service.logIn(subject, 'provider_e');
    const sent = await send('provider_e', { event, subject }, `${to('provider_e')}&event=${event}`);
    expect(sent).toMatchObject({ status: 200 });
    expect(await isIn({ account: accountOf(service, body.access_token) })).toBe(false);
  });

  test('a logout of one session', async () => {
    const subject = unique('person');
    const logIn = async (sid: string) => {
      const form = await service.loginForm('provider_f', {
        subject,
        claims: JSON.stringify({ sid }),
      });
      return { account: accountOf(service, (await service.token(form)).body.access_token) };
    };
    const [phone, tablet] = [await logIn('phone'), await logIn('tablet')];
    await send('provider_f', { event: 'logout', subject, sid: 'phone' });
    expect([await isIn(phone), await isIn(tablet)]).toEqual([false, true]);
  });

  test.each<[string, Record<string, string>, string]>([
    ['event', { event: 'x' }, to('provider_f')],
    ['event', {}, to('provider_f')],
    ['to', { event: 'logout' }, 'https://elsewhere.example/'],
    ['to', { event: 'logout' }, `${demo.sandbox_url}/provider_f/me`],
    ['to', { event: 'logout' }, to('provider_f').replace('http://', 'http://elsewhere.example/@')],
  ])('nothing for a wrong %s', async (name, query, address) => {
    const { error_description } = await send('provider_f', query, address);
    expect(error_description).toContain(name);
  });
});
