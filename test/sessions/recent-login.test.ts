import { afterEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { expectError } from '../support/expectations.ts';
import { newJwtLogin } from '../support/issuer-login.ts';
import { createClient, createLoginApp } from '../support/login-app.ts';
import { accountOf, deviceIdsOf, identityIdsOf, newPerson, newPhone } from '../support/people.ts';
import { asPhone } from '../support/phone.ts';
import { ourApp, startProviderStandIn } from '../support/provider-stand-in.ts';
import { type Answer, now, type Service, unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';

const { running, service } = await sharedServiceWithStore();
const standIn = await startProviderStandIn();
afterEach(() => running.resetClock());

const insufficient = (seconds: number) => ({
  status: 401,
  error: 'insufficient_user_authentication',
  naming: new RegExp(`at most ${seconds} seconds ago`),
});

test.each<[string, Service]>([
  ['a confidential client', service],
  ['a phone', await asPhone(service, { providers: 'provider_a,provider_f' })],
])(
  '%s: a login of more than 15 minutes ago does not link, unlink or delete, even refreshed; a new one does',
  async (_, service) => {
    const { account, refreshToken, subject, token } = await newPerson(service);
    const other = unique('bob');
    const { id } = (await account.linkAt('provider_a', other)).body;
    running.advance(901);
    const refreshed = (await service.refresh(refreshToken)).body;
    expect(decodeJwt(refreshed.access_token).auth_time).toBe(decodeJwt(token).auth_time);
    for (const old of [account, accountOf(service, refreshed.access_token)]) {
      const answers = [
        await old.linkAt('provider_a', unique('thief')),
        await old.unlink(id),
        await old.remove(),
      ];
      for (const answer of answers) {
        expectError(answer, insufficient(900));
        expect(answer.headers.get('www-authenticate')).toMatch(/, max_age=900$/);
      }
      expect(identityIdsOf(await old.show())).toHaveLength(2);
    }
    const again = accountOf(service, (await service.logIn(subject)).body.access_token);
    expect((await again.unlink(id)).status).toBe(204);
    expect((await again.linkAt('provider_a', other)).status).toBe(201);
    expect((await again.remove()).status).toBe(204);
  },
);

test('a login of more than 15 minutes ago relates up to nine devices more; the tenth needs a new one', async () => {
  const person = await newPerson(service);
  const phones: string[] = [];
  const relate = (id = '', { token } = person) => service.relate(id, token);
  const appToken = await service.loginAppToken();
  for (let made = 0; made < 11; made += 1) phones.push(await newPhone(service, appToken));
  const [first, ...others] = phones;
  const [last, ...further] = others.toReversed();
  await relate(first);
  running.advance(901);
  for (const id of further) expect((await relate(id)).status).toBe(200);
  const refused = await relate(last);
  expectError(refused, insufficient(900));
  expect(refused.headers.get('www-authenticate')).toMatch(/, max_age=900$/);
  expect((await deviceIdsOf(service, person)).toSorted()).toEqual([first, ...further].toSorted());
  for (const id of [first, ...further]) expect((await relate(id)).status).toBe(200);
  expect((await relate(last, await newPerson(service, person.subject))).status).toBe(200);
  expect((await deviceIdsOf(service, person)).toSorted()).toEqual(phones.toSorted());
});

describe('the time at which the provider says that the person authenticated', () => {
  const tenHours = 36_000;
  /** A login by an id token with this `auth_time`. */
  const logInAt = async (auth_time: unknown, subject = unique('alice')) => {
    const claims = JSON.stringify({ auth_time, acr: 'phr' });
    return (await service.token(await service.loginForm('provider_f', { subject, claims }))).body;
  };
  /** The time of the login, as the access token and the introspection of both tokens tell it. */
  const toldIn = async ({ access_token, refresh_token }: Record<string, string>) => {
    const { auth_time } = decodeJwt(access_token ?? '');
    for (const token of [access_token, refresh_token])
      expect((await service.introspect(token ?? '')).body).toMatchObject({
        active: true,
        auth_time,
      });
    return auth_time;
  };

  test('ten hours ago, by single sign-on: the login is no recent one, nor is its refresh', async () => {
    const then = now() - tenHours;
    const login = await logInAt(then);
    const refreshed = (await service.refresh(login.refresh_token)).body;
    for (const tokens of [login, refreshed]) {
      expect(await toldIn(tokens)).toBe(then);
      const account = accountOf(service, tokens.access_token);
      for (const answer of [
        await account.remove(),
        await account.linkAt('provider_a', unique('thief')),
      ])
        expectError(answer, insufficient(900));
      expect((await account.show()).status).toBe(200);
    }
  });

  test('a minute ago: the login is a recent one, for what is left of the 15 minutes', async () => {
    const then = now() - 60;
    const login = await logInAt(then);
    expect(await toldIn(login)).toBe(then);
    const account = accountOf(service, login.access_token);
    running.advance(845);
    expectError(await account.remove(), insufficient(900));
    running.resetClock();
    expect((await account.remove()).status).toBe(204);
  });

  test.each<[string, (now: number) => unknown]>([
    ['is missing', () => undefined],
    ['is null', () => null],
    ['is to come', (time) => time + tenHours],
  ])('%s: it is that of the login here', async (_, auth_time) => {
    const before = now();
    const told = await toldIn(await logInAt(auth_time(before)));
    expect(Number(told) - before).toBeGreaterThanOrEqual(0);
    expect(Number(told) - before).toBeLessThan(60);
  });

  test.each<[string, (then: number) => unknown, (then: number) => number]>([
    ['is a text', String, (then) => then],
    ['has a fraction', (then) => then + 0.5, (then) => then],
    ['is no time: it counts as long ago', () => 'yesterday', () => 0],
    ['is before 1970', () => -1, () => 0],
  ])('%s', async (_, auth_time, expected) => {
    const then = now() - tenHours;
    expect(await toldIn(await logInAt(auth_time(then)))).toBe(expected(then));
  });

  test('ends no session: those before a logout of the Login App are told by when they began here', async () => {
    const { login_app_id } = await createLoginApp(service, unique('app'), {
      providers: ['provider_f'],
    });
    const app = { ...(await createClient(service, login_app_id)), login_app_id };
    await service.operate('login-apps', 'logout', { 'login-app': login_app_id });
    running.advance(31);
    const claims = JSON.stringify({ auth_time: now() - tenHours });
    const { body } = await service.token(await service.loginForm('provider_f', { claims }), app);
    expect((await service.refresh(body.refresh_token, app)).status).toBe(200);
  });

  test('of a JWT access token, and of an introspection, counts as well', async () => {
    const then = now() - tenHours;
    const { logIn } = await newJwtLogin(service, standIn);
    expect(await toldOf(await logIn({ auth_time: then, scope: 'a' }))).toBe(then);
    const scene = standIn.openScene();
    const app = await createLoginApp(service, unique('app'));
    const audience_validation = {
      method: 'introspection',
      url: `${scene.url}/introspection`,
      client_id: ourApp,
      client_secret: 'a-secret',
      audiences: [ourApp],
    };
    const user_info = { url: `${scene.url}/user_info` };
    await service.setProvider(app, 'provider_a', {
      user_info,
      audience_validation,
      namespace: scene.url,
    });
    scene.answer('introspection', { body: { active: true, client_id: ourApp, auth_time: then } });
    const form = {
      grant_type: 'provider_credentials',
      provider: 'provider_a',
      access_token: 'a-token',
    };
    expect(await toldOf(await service.token(form, app))).toBe(then);
  });
});

const toldOf = ({ body }: Answer) => decodeJwt(body.access_token).auth_time;
