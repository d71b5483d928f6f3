import { describe, expect, test } from '@jest/globals';
import { expectError } from '../support/expectations.ts';
import { newIssuerLogin } from '../support/issuer-login.ts';
import { createLoginApp } from '../support/login-app.ts';
import { accountOf, eventuallyPasses, isIn } from '../support/people.ts';
import { type Claims, ourApp, startProviderStandIn } from '../support/provider-stand-in.ts';
import { now, sharedService, unique } from '../support/service.ts';

const service = sharedService();
const standIn = await startProviderStandIn();

const newLogin = (settings?: object) => newIssuerLogin(service, standIn, settings);
const notAccepted = {
  status: 400,
  error: 'invalid_request',
  naming: 'The payload is not a notification of this provider for this Login App.',
};
/** Somebody of whom no message that is refused must change anything. */
const bystander = await newLogin({ on_account_deleted: 'delete' });
const phone = await bystander.logIn();
describe('POST /v2/marketing/providers/{provider}/notifications', () => {
  const ending = ['consent-revoked', 'account-delete', 'account-deleted'];
  test.each(ending)(
    '204 for %s: all sessions end, and the person can log in again',
    async (type) => {
      const { logIn, notify } = await newLogin();
      const [phone, tablet] = [await logIn(), await logIn()];
      expect((await notify(type)).status).toBe(204);
      expect([await isIn(phone), await isIn(tablet)]).toEqual([false, false]);
      expect((await logIn()).loginUserId).toBe(phone.loginUserId);
    },
  );

  test.each([
    ['consent-revoked', { on_consent_revoked: 'delete' }],
    ['account-delete', { on_account_deleted: 'delete' }],
  ])(
    '204 for %s with %j: the person is deleted, and not by the other kind',
    async (type, settings) => {
      const { logIn, notify } = await newLogin(settings);
      const phone = await logIn();
      await notify(type === 'account-delete' ? 'consent-revoked' : 'account-delete');
      expect((await logIn()).loginUserId).toBe(phone.loginUserId);
      expect((await notify(type)).status).toBe(204);
      expect(await isIn(phone)).toBe(false);
      expect((await logIn()).loginUserId).not.toBe(phone.loginUserId);
    },
  );

  test('204 from the issuer of the id tokens that come for codes', async () => {
    const scene = standIn.openScene();
    const subject = unique('alice');
    scene.answer('token', { body: { id_token: await scene.idToken({ sub: subject }) } });
    const app = await createLoginApp(service, unique('app'));
    const id_token = { issuer: scene.url, on_account_deleted: 'delete' };
    const exchange = {
      token_url: `${scene.url}/token`,
      client_id: ourApp,
      client_secret: 'our-secret',
    };
    const settings = { authorization_code: { ...exchange, id_token } };
    await service.setProvider(app, 'provider_b', settings);
    const form = { grant_type: 'provider_authorization_code', provider: 'provider_b' };
    const { body } = await service.token({ ...form, authorization_code: 'a-code' }, app);
    const account = accountOf(service, body.access_token);
    expect(await isIn({ account })).toBe(true);
    const address = `/v2/marketing/providers/provider_b/notifications?login_app_id=${app.login_app_id}`;
    const notify = async (claims: Claims) => {
      const events = { type: 'account-delete', sub: subject };
      const payload = await scene.idToken({
        sub: undefined,
        events,
        jti: unique('jti'),
        ...claims,
      });
      return service.json(address, { payload });
    };
    expectError(await notify({ aud: 'another-app' }), notAccepted);
    expect(await isIn({ account })).toBe(true);
    expect((await notify({})).status).toBe(204);
    expect(await isIn({ account })).toBe(false);
  });

  test('204 for another type, and for one from before the latest login: nothing changes', async () => {
    for (const type of [
      'email-disabled',
      'email-enabled',
      'something-new',
      'constructor',
      '__proto__',
    ])
      expect((await bystander.notify(type)).status).toBe(204);
    expect((await bystander.notify('account-delete', { iat: now() - 60 })).status).toBe(204);
    expect(await isIn(phone)).toBe(true);
  });

  test('a session that began after the notification goes on, whoever sends it again', async () => {
    const { scene, logIn, notify, subject } = await newLogin();
    const bob = unique('bob');
    await (await logIn(bob)).account.link({
      provider: 'provider_f',
      id_token: await scene.idToken({ sub: subject }),
    });
    const before = await logIn();
    const iat = now();
    await eventuallyPasses(async () => expect(now()).toBeGreaterThan(iat));
    const after = await logIn(bob);
    for (let time = 0; time < 2; time += 1) {
      expect((await notify('consent-revoked', { iat })).status).toBe(204);
      expect([await isIn(before), await isIn(after)]).toEqual([false, true]);
    }
  });

  test('204 for one for several apps, of ours', async () => {
    const { logIn, notify } = await newLogin();
    const phone = await logIn();
    const claims = { aud: [ourApp, 'another-app'], azp: ourApp };
    expect((await notify('consent-revoked', claims)).status).toBe(204);
    expect(await isIn(phone)).toBe(false);
  });

  test.each(['application/jwt', 'secevent+JWT', 'application/secevent+jwt'])(
    '204 for typ %s',
    async (typ) => {
      const { logIn, post, scene, subject } = await newLogin();
      const phone = await logIn();
      const events = { type: 'consent-revoked', sub: subject };
      const claims = { sub: undefined, exp: undefined, events, jti: unique('jti') };
      expect((await post(await scene.idToken(claims, { typ }))).status).toBe(204);
      expect(await isIn(phone)).toBe(false);
    },
  );

  test.each<[string, Claims]>([
    ['of another issuer', { iss: 'https://accounts.example' }],
    ['for another app', { aud: 'another-app' }],
    ['for several apps that names none as its own', { aud: [ourApp, 'another-app'] }],
    ['from yesterday', { iat: now() - 90_000 }],
    ['from the future', { iat: now() + 600 }],
    ['that has expired', { exp: now() - 600 }],
    ['without an id', { jti: undefined }],
    ['with an empty id', { jti: '' }],
    ['without events', { events: undefined }],
    ['with events that are no JSON', { events: '{' }],
    ['with events of no type', { events: '{"sub":"alice"}' }],
    ['with events of nobody', { events: '{"type":"account-delete"}' }],
    ['with events of a number', { events: '{"type":"account-delete","sub":7}' }],
  ])('400 for one %s: nothing changes', async (_, claims) => {
    expectError(await bystander.notify('account-delete', claims), notAccepted);
    expect(await isIn(phone)).toBe(true);
  });

  test('400 for one that another key has signed, for an id token, and for what is no JWT', async () => {
    const { logIn, post, scene, subject } = await newLogin();
    const phone = await logIn();
    const events = { type: 'account-delete', sub: subject };
    const claims = { iss: scene.url, events, jti: 'x' };
    expectError(await post(await standIn.openScene().idToken(claims)), notAccepted);
    expectError(await post(await scene.idToken({ sub: subject, jti: 'x' })), notAccepted);
    expectError(await post('made-up'), notAccepted);
    const [header, payload] = (await scene.idToken(claims)).split('.');
    expectError(await post(`${header}.${payload}.`), notAccepted);
    expect(await isIn(phone)).toBe(true);
  });

  test('a notification is no id token', async () => {
    const { app, scene, subject } = await newLogin();
    const events = { type: 'consent-revoked', sub: subject };
    const id_token = await scene.idToken({ sub: subject, events });
    expectError(await service.byIdToken(id_token, app), { status: 400, error: 'invalid_grant' });
  });

  test('400 for another Login App, also with the same issuer', async () => {
    const [one, other] = [await newLogin(), await newLogin()];
    const phone = await one.logIn();
    const events = { type: 'account-delete', sub: one.subject };
    const jwt = await one.scene.idToken({ events, jti: 'x' });
    expectError(await other.post(jwt), notAccepted);
    const unknown = await one.post(jwt, `?login_app_id=la_${'A'.repeat(22)}`);
    expectError(unknown, { ...notAccepted, naming: /not set up/ });
    const elsewhere = await one.post(jwt, undefined, 'provider_a');
    expectError(elsewhere, { ...notAccepted, naming: /provider_a is not set up/ });
    expect(await isIn(phone)).toBe(true);
  });

  test.each<[string, string, string, unknown]>([
    ['no Login App', 'provider_f', '', 'x'],
    ['a Login App of another form', 'provider_f', '?login_app_id=x', 'x'],
    ['another parameter', 'provider_f', `?login_app_id=la_${'A'.repeat(22)}&x=1`, 'x'],
    ['an unknown provider', 'provider_x', `?login_app_id=la_${'A'.repeat(22)}`, 'x'],
    ['no payload', 'provider_f', `?login_app_id=la_${'A'.repeat(22)}`, undefined],
    ['an empty payload', 'provider_f', `?login_app_id=la_${'A'.repeat(22)}`, ''],
    ['a payload that is no text', 'provider_f', `?login_app_id=la_${'A'.repeat(22)}`, { a: 1 }],
  ])('400 for %s', async (_, provider, query, payload) => {
    expectError(await bystander.post(payload, query, provider), {
      status: 400,
      error: 'invalid_request',
    });
  });
});
