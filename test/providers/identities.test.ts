import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { serve } from '../../infra/local/loopback-server.ts';
import type { ProviderId } from '../../lib/providers/provider-ids.ts';
import { applyPreset } from '../../lib/providers/set-up/apply-preset.ts';
import type { PresetName } from '../../lib/providers/set-up/presets.ts';
import { createLoginApp, type LoginApp } from '../support/login-app.ts';
import { subOf } from '../support/people.ts';
import { ourApp, reply, type Scene, startProviderStandIn } from '../support/provider-stand-in.ts';
import { targets } from '../support/provider-targets.ts';
import { unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';

const { running, service } = await sharedServiceWithStore();
const { operate, token } = service;
const standIn = await startProviderStandIn();
/** Another company, on another host: its alice is somebody else. */
const elsewhere = await serve((request, response) => {
  const isUserInfo = request.url?.endsWith('/user_info');
  reply(response, {
    body: { sub: 'alice', ...(!isUserInfo && { active: true, client_id: ourApp }) },
  });
});
afterAll(() => elsewhere.close());

let app: LoginApp;

beforeEach(async () => {
  app = await createLoginApp(service, unique('app'));
});

const at = (url: string, more: object = {}) => ({
  ...targets.introspection.settings((endpoint) => `${url}/${endpoint}`),
  ...more,
});

const flags = (provider = 'provider_a') => ({ 'login-app': app.login_app_id, provider });
const set = (settings: object, provider?: string) =>
  operate('providers', 'set', { ...flags(provider), settings });
const remove = () => operate('providers', 'remove', flags());
const preset = (name: PresetName, provider = 'provider_a', more = {}) =>
  operate('providers', 'set', {
    ...flags(provider),
    preset: name,
    'app-id': ourApp,
    ...more,
    ...(name !== 'facebook-limited' && { 'app-secret': 'our-secret' }),
  });
const namespaceShown = async (): Promise<string> =>
  Object((await operate('providers', 'show', flags())).providers).provider_a.namespace;

/**
 * The Login User of alice, as the provider has her, when no function knows older settings any more.
 */
async function alice(provider = 'provider_a') {
  running.advance(31);
  const form = { grant_type: 'provider_credentials', provider, access_token: 'an-access-token' };
  return subOf(await token(form, app));
}

describe('the namespace of an OAuth provider', () => {
  test('stays when the settings change, and with it the Login Users', async () => {
    await set(at(standIn.openScene().url, { namespace: 'company' }));
    const before = await alice();
    await set(at(standIn.openScene().url));
    expect([await namespaceShown(), await alice()]).toEqual(['company', before]);
  });

  test('is the host of the user-info address; must be said when that changes, to be the old or the new one', async () => {
    const { url } = standIn.openScene();
    await set(at(url));
    const person = await alice();
    const [before = '', now = ''] = [url, elsewhere.url].map((address) => new URL(address).host);
    // Nothing tells a move from another company.
    await expect(set(at(elsewhere.url))).rejects.toThrow(
      `The settings of provider_a are invalid: namespace: must be set, since user_info.url has another host than before: ${before} keeps the Login Users, ${now} starts with new ones.`,
    );
    expect(await namespaceShown()).toBe(before);
    await set(at(elsewhere.url, { namespace: before }));
    await set(at(elsewhere.url));
    expect([await namespaceShown(), await alice()]).toEqual([before, person]);
    // Back at the host of that name, there is nothing to choose.
    await set(at(url));
    expect([await namespaceShown(), await alice()]).toEqual([before, person]);
    await set(at(elsewhere.url, { namespace: now }));
    expect(await alice()).not.toBe(person);
  });

  test('keeps of a profile what the settings name at the latest login', async () => {
    const { url, answer } = standIn.openScene();
    answer('user_info', { body: { sub: 'alice', email: 'alice@example.com', name: 'Alice' } });
    const shownWith = async (profile?: object) => {
      const user_info = { url: `${url}/user_info`, ...(profile && { profile }) };
      await set(at(url, { user_info }));
      const login_user = await alice();
      const { identities } = await operate('login-users', 'show', { 'login-user': login_user });
      return Object(identities)[0].profile;
    };
    const whole = { email: 'alice@example.com', name: 'Alice' };
    expect(await shownWith({ email: 'email', name: 'name' })).toEqual(whole);
    expect(await shownWith({ name: 'name' })).toEqual({ name: 'Alice' });
    expect(await shownWith()).toBeUndefined();
  });
});

describe('Facebook, whose access tokens and id tokens have the same ids', () => {
  const options = { 'app-id': [ourApp], 'app-secret': 'our-secret', 'redirect-uri': [] };

  /** The settings of a preset, with Facebook at a scene. */
  const facebookAt = (
    { url }: Scene,
    name: PresetName,
    provider: ProviderId,
  ): Record<string, unknown> => {
    const settings = JSON.stringify(Object(applyPreset(name, provider, options)).settings)
      .replace('https://limited.facebook.com/.well-known/oauth/openid/jwks/', `${url}/jwks`)
      .replaceAll(/https:\/\/(www|graph)\.facebook\.com/g, url);
    return JSON.parse(settings);
  };
  const onAndroid = () => alice();
  const onIos = async (scene: Scene) => subOf(await service.byIdToken(await scene.idToken(), app));
  const open = (): Scene => {
    const scene = standIn.openScene();
    scene.answer('me', { body: { id: 'alice' } });
    return scene;
  };
  const limitedShown = async () =>
    Object((await operate('providers', 'show', flags('provider_f'))).providers).provider_f.issuers;

  test('is one person on Android (access token) and iOS (Limited Login)', async () => {
    const scene = open();
    await set(facebookAt(scene, 'facebook', 'provider_a'));
    await set(facebookAt(scene, 'facebook-limited', 'provider_f'), 'provider_f');
    expect(await onIos(scene)).toBe(await onAndroid());
  });

  test('set up before: the preset keeps the namespace of its people, until another is named', async () => {
    const { namespace: _, ...before } = Object(
      applyPreset('facebook', 'provider_a', options),
    ).settings;
    await set(before);
    expect(await namespaceShown()).toBe('graph.facebook.com');
    await preset('facebook', 'provider_a');
    expect(await namespaceShown()).toBe('graph.facebook.com');
    await preset('facebook', 'provider_a', { namespace: 'https://www.facebook.com' });
    expect(await namespaceShown()).toBe('https://www.facebook.com');
  });

  test('set up before: Limited Login joins its people when their namespace is named', async () => {
    await preset('facebook-limited', 'provider_f');
    await preset('facebook-limited', 'provider_f', { namespace: 'graph.facebook.com' });
    await preset('facebook-limited', 'provider_f');
    expect(await limitedShown()).toMatchObject([
      { issuer: 'https://www.facebook.com', namespace: 'graph.facebook.com' },
    ]);
    const scene = open();
    const { namespace: _, ...before } = facebookAt(scene, 'facebook', 'provider_a');
    await set(before);
    const android = await onAndroid();
    const namespace = await namespaceShown();
    const { issuers } = Object(facebookAt(scene, 'facebook-limited', 'provider_f'));
    await set({ issuers: [{ ...issuers[0], namespace }] }, 'provider_f');
    expect(await onIos(scene)).toBe(android);
    for (const by of [{}, { issuer: issuers[0].issuer }, { issuer: namespace }]) {
      const found = await operate('login-users', 'find', {
        ...flags('provider_f'),
        subject: 'alice',
        ...by,
      });
      expect(found).toMatchObject({ login_user_id: android });
    }
    const { issuer } = issuers[0];
    const bob = { 'login-user': android, provider: 'provider_f', subject: 'bob', issuer };
    await operate('identities', 'add', bob);
    expect(await operate('identities', 'list', { 'login-user': android })).toMatchObject({
      identities: [{ namespace }, { namespace, subject: 'bob' }],
    });
  });
});

describe('another company in the place of a provider', () => {
  test('set up after the former one was removed: alice there is not alice here', async () => {
    await set(at(standIn.openScene().url));
    const before = await alice();
    await remove();
    await set(at(elsewhere.url));
    expect(await alice()).not.toBe(before);
  });

  test('the same company in another place: the same Login User', async () => {
    const { url } = standIn.openScene();
    await set(at(url));
    await set(at(url), 'provider_d');
    expect(await alice('provider_d')).toBe(await alice());
  });

  test('a preset for another company is refused until it is said to be one', async () => {
    await preset('github');
    expect(await namespaceShown()).toBe('api.github.com');
    await expect(preset('discord')).rejects.toThrow('--namespace must be set');
    await preset('discord', undefined, { namespace: 'discord.com' });
    expect(await namespaceShown()).toBe('discord.com');
  });
});
