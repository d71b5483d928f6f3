import { describe, expect, test } from '@jest/globals';
import { createLoginApp, demoSettings } from '../support/login-app.ts';
import { allOf, failed, flagsOf, succeeded, writeSettings } from '../support/operator.ts';
import {
  accountOf,
  eventuallyPasses,
  identityIdsOf,
  newPerson,
  newPhone,
  subOf,
} from '../support/people.ts';
import { ourApp, startProviderStandIn } from '../support/provider-stand-in.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();
const { operate } = service;
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);

/** A Login App where people can log in with provider_f, and phones can be registered. */
const newApp = () =>
  createLoginApp(service, unique('app'), { platforms: ['android'], providers: ['provider_f'] });
const standIn = await startProviderStandIn();

describe('npm run operator: people, their sessions and devices', () => {
  /** A person with a phone. */
  async function newOwner() {
    const app = await newApp();
    const person = await newPerson(service, unique('alice'), app);
    const phone = await newPhone(service, await service.loginAppToken(app));
    await service.relate(phone, person.token);
    return { app, person, phone };
  }

  test('find by what the provider knows, show, and list those of a Login App', async () => {
    const { app, person } = await newOwner();
    const { subject, loginUserId: login_user_id } = person;
    const known = {
      login_app_id: app.login_app_id,
      login_user_id,
      identities: [{ subject, provider: 'provider_f', namespace: expect.any(String) }],
      created_at: time,
      last_login_at: time,
      blocked: false,
      login_app_disabled: false,
      active_sessions: 1,
      devices: 1,
    };
    const find = [
      'login-users',
      'find',
      '--login-app',
      app.login_app_id,
      '--provider',
      'provider_f',
    ];
    const found = await succeeded(...find, '--subject', subject);
    expect(found).toMatchObject(known);
    const issuer = ['--issuer', String(Object(found.identities)[0].namespace)];
    expect(await succeeded(...find, '--subject', subject, ...issuer)).toEqual(found);
    expect(await failed(...find, '--subject', 'nobody')).toBe('There is no such Login User.');
    expect(await failed(...find, '--subject', subject, '--issuer', 'https://else.example')).toBe(
      'There is no such Login User.',
    );
    expect(await failed(...find.slice(0, -1), 'provider_a', '--subject', subject)).toBe(
      'The Login App has no provider_a; name its --issuer.',
    );

    await operate('login-users', 'block', { 'login-user': login_user_id });
    await operate('login-apps', 'disable', { 'login-app': app.login_app_id });
    expect(await succeeded('login-users', 'show', '--login-user', login_user_id)).toEqual({
      ...found,
      blocked: true,
      blocked_at: time,
      login_app_disabled: true,
    });
    await eventuallyPasses(async () => {
      const people = await allOf(
        ['login-users', 'list', '--login-app', app.login_app_id],
        'login_users',
      );
      expect(people).toEqual([expect.objectContaining({ login_user_id, blocked: true })]);
    });
  });

  test('several issuers know somebody by the subject: find names them', async () => {
    const app = await newApp();
    const flags = { 'login-app': app.login_app_id, provider: 'provider_f' };
    const subject = unique('alice');
    const { issuers } = Object(await demoSettings(service, 'provider_f'));
    const [first, second] = issuers.map((one: { issuer: string }) => one.issuer);
    for (const query of [{ subject }, { subject, issuer: 'second' }]) {
      const { id_token = '' } = await service.credentials('provider_f', query);
      const form = { grant_type: 'provider_credentials', provider: 'provider_f', id_token };
      expect((await service.token(form, app)).status).toBe(200);
    }
    await expect(operate('login-users', 'find', { ...flags, subject })).rejects.toThrow(
      `Several issuers know this subject: ${first}, ${second}. Choose one with --issuer.`,
    );
    const found = await operate('login-users', 'find', { ...flags, subject, issuer: second });
    expect(found).toMatchObject({ identities: [{ subject, namespace: second }] });
  });

  test('find by codes: the issuer of the id tokens that come for them vouches', async () => {
    const scene = standIn.openScene();
    const subject = unique('alice');
    scene.answer('token', { body: { id_token: await scene.idToken({ sub: subject }) } });
    const app = await createLoginApp(service, unique('app'));
    const flags = { 'login-app': app.login_app_id, provider: 'provider_b' };
    const exchange = {
      token_url: `${scene.url}/token`,
      client_id: ourApp,
      client_secret: 'our-secret',
    };
    const settings = { authorization_code: { ...exchange, id_token: { issuer: scene.url } } };
    await operate('providers', 'set', { ...flags, settings });
    const code = { provider: 'provider_b', authorization_code: 'a-code' };
    const login = await service.token({ grant_type: 'provider_authorization_code', ...code }, app);
    expect(await operate('login-users', 'find', { ...flags, subject })).toMatchObject({
      login_user_id: subOf(login),
      identities: [{ subject, namespace: scene.url }],
    });
  });

  test('people of many shards are all listed, each once', async () => {
    const app = await newApp();
    const people: string[] = [];
    for (let count = 0; count < 20; count += 1) {
      people.push((await newPerson(service, unique('p'), app)).loginUserId);
    }
    const list = ['login-users', 'list', '--login-app', app.login_app_id];
    await eventuallyPasses(async () => {
      const listed = (await allOf(list, 'login_users')).map(({ login_user_id }) =>
        String(login_user_id),
      );
      expect(listed.toSorted()).toEqual(people.toSorted());
    });
  });

  test('sessions show, also of one that has ended', async () => {
    const { app, person } = await newOwner();
    const flags = ['--login-user', person.loginUserId];
    const { sessions } = await succeeded('sessions', 'list', ...flags);
    const [{ session_id }] = Object(sessions);
    const show = ['sessions', 'show', ...flags, '--session'];
    expect(await succeeded(...show, session_id)).toMatchObject({
      client_id: app.client_id,
      active: true,
    });
    await operate('login-users', 'logout', { 'login-user': person.loginUserId });
    expect(await succeeded(...show, session_id)).toMatchObject({ active: false, ended_at: time });
    const unknown = `s_${'A'.repeat(22)}`;
    expect(await failed(...show, unknown)).toBe(
      `The Login User ${person.loginUserId} has no session ${unknown}; stored are ${session_id}.`,
    );
  });

  test('sessions find: the session of an access token or a refresh token, also when it has ended', async () => {
    const { person } = await newOwner();
    const find = ['sessions', 'find', '--token-file'];
    const { sessions } = await operate('sessions', 'list', { 'login-user': person.loginUserId });
    const [session] = Object(sessions);
    const known = { login_user_id: person.loginUserId, ...session };
    for (const token of [person.token, person.refreshToken]) {
      expect(await succeeded(...find, writeSettings(token))).toEqual({ ...known, active: true });
    }
    await operate('login-users', 'logout', { 'login-user': person.loginUserId });
    const ended = await succeeded(...find, writeSettings(person.token));
    expect(ended).toEqual({
      ...known,
      active: false,
      ended_at: time,
      expires_at: expect.any(Number),
    });
    await operate('login-users', 'delete', { 'login-user': person.loginUserId });
    expect(await failed(...find, writeSettings(person.token))).toBe(
      `The Login User ${person.loginUserId} has no session ${session.session_id}; stored are none.`,
    );
  });

  test('sessions find: a text that is no token of a person, which is not repeated', async () => {
    const line = '--token-file must hold an access token of a Login User, or a refresh token.';
    for (const text of ['secret', 'a.b.c', await service.loginAppToken()]) {
      expect(await failed('sessions', 'find', '--token-file', writeSettings(text))).toBe(line);
    }
  });

  test("devices list: a person's are one page", async () => {
    const { person } = await newOwner();
    expect(
      await failed('devices', 'list', '--login-user', person.loginUserId, '--after', 'x'),
    ).toBe('A Login User has at most 20 devices, all on one page; --after is for a --login-app.');
  });

  test('devices show and find; neither shows the push token', async () => {
    const { app, person } = await newOwner();
    const token = unique('push-token');
    const { id } = (
      await service.register({ platform: 'android', token }, await service.loginAppToken(app))
    ).body;
    await service.relate(id, person.token);
    const known = {
      device_id: id,
      login_app_id: app.login_app_id,
      login_user_id: person.loginUserId,
      platform: 'android',
      active: true,
      disabled: false,
    };
    const shown = await succeeded('devices', 'show', '--device', id);
    expect(shown).toMatchObject(known);
    const flags = flagsOf({ 'login-app': app.login_app_id, platform: 'android' });
    const find = ['devices', 'find', ...flags, '--token-file'];
    expect(await succeeded(...find, writeSettings(token))).toEqual(shown);
    expect(JSON.stringify(shown)).not.toContain(token);
    expect(await failed(...find, writeSettings('another'))).toBe('There is no such device.');
    await operate('devices', 'disable', { device: id });
    expect(await succeeded('devices', 'show', '--device', id)).toMatchObject({
      active: false,
      disabled: true,
    });
  });
});

test('an operator gives a person back the account that an intruder took', async () => {
  const { account, loginUserId, subject } = await newPerson(service);
  const thief = unique('thief');
  const { id } = (await account.linkAt('provider_a', thief)).body;
  const [own = ''] = identityIdsOf(await account.show());
  await account.unlink(own);
  const empty = subOf(await service.logIn(subject));
  expect(empty).not.toBe(loginUserId);

  const who = ['--login-user', loginUserId];
  await succeeded('login-users', 'block', ...who);
  expect(await succeeded('identities', 'list', ...who)).toMatchObject({
    identities: [{ id, provider: 'provider_a', subject: thief }],
  });
  expect(await failed('identities', 'remove', ...who, '--identity', id)).toMatch(/last identity/);
  const issuer = `${service.demo.sandbox_url}/provider_f`;
  const add = [
    'identities',
    'add',
    ...who,
    ...flagsOf({ provider: 'provider_f', issuer, subject }),
  ];
  expect(await failed(...add)).toMatch(/belongs to another Login User/);
  expect(await succeeded(...add, '--move')).toMatchObject({
    login_user_id: loginUserId,
    added: true,
  });
  expect(await succeeded('identities', 'remove', ...who, '--identity', id)).toMatchObject({
    removed: true,
  });
  await succeeded('login-users', 'unblock', ...who);

  const again = await service.logIn(subject);
  expect(subOf(again)).toBe(loginUserId);
  expect(identityIdsOf(await accountOf(service, again.body.access_token).show())).toHaveLength(1);
  expect(subOf(await service.logIn(thief, 'provider_a'))).not.toBe(loginUserId);
});
