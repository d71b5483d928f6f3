import { beforeEach, describe, expect, test } from '@jest/globals';
import { createLoginApp, demoSettings, type LoginApp } from '../support/login-app.ts';
import { newPerson, newPhone, type Person } from '../support/people.ts';
import { type Answer, type Service, unique } from '../support/service.ts';
import { twice, twoInstances } from '../support/two-instances.ts';

/**
 * The status of a whole Login App. A warm instance takes up to 30 seconds to notice a change; here,
 * two instances do.
 */
const { service, running, second, proxy, both, advance } = await twoInstances();
const { operate } = service;

let app: LoginApp;
let flags: { 'login-app': string };
let person: Person;
let appToken: string;
let longLivedToken: string;
beforeEach(async () => {
  app = await createLoginApp(service, unique('app'), {
    platforms: ['android'],
    providers: ['provider_f'],
  });
  flags = { 'login-app': app.login_app_id };
  person = await newPerson(service, unique('alice'), app);
  appToken = await service.loginAppToken(app);
  const created = await operate('login-apps', 'tokens create', { ...flags, name: 'iOS app' });
  longLivedToken = String(created.login_app_token);
});

const outcome = ({ status, body }: Answer): unknown =>
  status < 400 ? status : [status, body.error];
const logIn = async (instance: Service) =>
  outcome(await instance.logIn(unique('bob'), 'provider_f', app));
const refresh = async (instance: Service) =>
  outcome(await instance.refresh(person.refreshToken, app));
const useAppToken = async (instance: Service, token = appToken) =>
  outcome(await instance.register({ platform: 'android', token: unique('phone') }, token));
const useUserToken = async (instance: Service) => outcome(await instance.listDevices(person.token));
const isActive = async (instance: Service, token: string): Promise<boolean> =>
  (await instance.introspect(token, app)).body.active;

describe('login-apps disable', () => {
  const everything = async (instance: Service) => ({
    issued: [
      await logIn(instance),
      await refresh(instance),
      outcome(await instance.token({ grant_type: 'client_credentials' }, app)),
    ],
    used: [
      await useAppToken(instance),
      await useAppToken(instance, longLivedToken),
      await useUserToken(instance),
    ],
    active: [
      await isActive(instance, person.token),
      await isActive(instance, person.refreshToken),
      await isActive(instance, appToken),
      await isActive(instance, longLivedToken),
    ],
  });
  const works = {
    issued: [200, 200, 200],
    used: [201, 201, 200],
    active: [true, true, true, true],
  };
  const noToken = [400, 'unauthorized_client'];
  const rejected = [401, 'invalid_token'];

  test('nobody logs in or refreshes, and no token is accepted; once enabled, all goes on', async () => {
    expect(await both(everything)).toEqual(twice(works));
    expect(await operate('login-apps', 'disable', flags)).toEqual({
      login_app_id: app.login_app_id,
      disabled: true,
    });
    advance(30);
    expect(await both(everything)).toEqual(
      twice({
        issued: [noToken, noToken, noToken],
        used: [rejected, rejected, rejected],
        active: [false, false, false, false],
      }),
    );
    expect((await service.logIn(unique('carol'))).status).toBe(200);

    await operate('login-apps', 'enable', flags);
    advance(30);
    expect(await both(everything)).toEqual(twice(works));
  });
});

describe('login-apps logout', () => {
  const sessionEnds = {
    refresh: [400, 'invalid_grant'],
    userToken: [401, 'invalid_token'],
    active: false,
  };
  const sessionGoesOn = { refresh: 200, userToken: 200, active: true };
  const session = async (instance: Service) => ({
    refresh: await refresh(instance),
    userToken: await useUserToken(instance),
    active: await isActive(instance, person.token),
  });

  test('ends every session that began before, also one that was refreshed meanwhile; a new login works', async () => {
    const stranger = await newPerson(service);
    expect(await both(session)).toEqual(twice(sessionGoesOn));
    await operate('login-apps', 'logout', flags);
    await service.refresh(person.refreshToken, app);
    advance(30);
    expect(await both(session)).toEqual(twice(sessionEnds));
    const whose = { 'login-user': person.loginUserId };
    expect(await operate('sessions', 'list', whose)).toMatchObject({ sessions: [] });
    expect((await service.listDevices(stranger.token)).status).toBe(200);

    person = await newPerson(service, person.subject, app);
    expect(await both(session)).toEqual(twice(sessionGoesOn));
  });

  test('ends a session that began a moment ago on an instance whose clock is a second fast', async () => {
    second.running.advance(1);
    person = await newPerson(second.service, unique('bob'), app);
    await operate('login-apps', 'logout', flags);
    advance(30);
    expect(await both(session)).toEqual(twice(sessionEnds));
  });

  test('leaves a session that begins in the second that it names', async () => {
    const { sessions_valid_from } = await operate('login-apps', 'logout', flags);
    const now = running.now();
    advance(Number(sessions_valid_from) - now);
    person = await newPerson(service, person.subject, app);
    advance(30);
    expect(await both(session)).toEqual(twice(sessionGoesOn));
  });

  test('writes once, however many sessions there are', async () => {
    await newPerson(service, unique('bob'), app);
    proxy.forget();
    await operate('login-apps', 'logout', flags);
    const writes = proxy
      .calls()
      .filter(({ operation }) => /Put|Update|Delete|Write/.test(operation));
    expect(writes.map(({ operation }) => operation)).toEqual(['UpdateItem']);
  });

  test.each(['logout', 'undo-logout'])(
    'while somebody else logs out, %s changes nothing',
    async (verb) => {
      await operate('login-apps', 'logout', flags);
      // Mostly within the second of the first one, which their logout must not be taken for.
      let faster: Promise<unknown> | undefined;
      proxy.hook = async ({ operation }) => {
        if (operation !== 'UpdateItem' || faster) return undefined;
        faster = operate('login-apps', 'logout', flags);
        await faster;
        return undefined;
      };
      await expect(operate('login-apps', verb, flags)).rejects.toThrow(
        'Somebody else logged the Login App out meanwhile; nothing was changed. Run the command again.',
      );
      advance(30);
      expect(await both(session)).toEqual(twice(sessionEnds));
    },
  );

  test('messages for the people no longer go to their devices', async () => {
    const phone = await newPhone(service, appToken);
    await service.relate(phone, person.token);
    const ofPerson = { 'login-user': person.loginUserId };
    const ofApp = () => operate('devices', 'list', flags);
    await expect(operate('devices', 'list', ofPerson)).resolves.toMatchObject({ devices: [{}] });
    await operate('login-apps', 'logout', flags);
    advance(30);
    await expect(operate('devices', 'list', ofPerson)).resolves.toMatchObject({ devices: [] });
    expect((await ofApp()).devices).toEqual([
      expect.not.objectContaining({ login_user_id: expect.anything() }),
    ]);

    await operate('login-apps', 'undo-logout', flags);
    advance(30);
    await expect(operate('devices', 'list', ofPerson)).resolves.toMatchObject({ devices: [{}] });
  });

  test('can be undone: what has not ended otherwise goes on', async () => {
    await operate('login-apps', 'logout', flags);
    advance(30);
    expect(await both(session)).toEqual(twice(sessionEnds));
    await operate('login-apps', 'undo-logout', flags);
    advance(30);
    expect(await both(session)).toEqual(twice(sessionGoesOn));

    await operate('login-apps', 'logout', flags);
    await operate('login-users', 'logout', { 'login-user': person.loginUserId });
    await operate('login-apps', 'undo-logout', flags);
    advance(30);
    expect(await both(session)).toEqual(twice(sessionEnds));
  });

  test('undone, it leaves what an earlier logout ended', async () => {
    await operate('login-apps', 'logout', flags);
    advance(30);
    await operate('login-apps', 'logout', flags);
    await operate('login-apps', 'undo-logout', flags);
    advance(30);
    expect(await both(session)).toEqual(twice(sessionEnds));
    await expect(operate('login-apps', 'undo-logout', flags)).rejects.toThrow(
      'The Login App has no logout that can be undone.',
    );
  });
});

describe('providers remove', () => {
  test('stops logins through the provider; sessions go on, and set again, it works again', async () => {
    const provider = { ...flags, provider: 'provider_f' };
    const settings = await demoSettings(service, 'provider_f');
    expect(await both(logIn)).toEqual(twice(200));
    await operate('providers', 'remove', provider);
    advance(30);
    expect(await both(logIn)).toEqual(twice([400, 'invalid_request']));
    expect(await both(refresh)).toEqual(twice(200));
    await operate('providers', 'set', { ...provider, settings });
    expect(await both(logIn)).toEqual(twice(200));
  });
});

test('of two operators who rotate the secret of a client at once, one is told that nothing was changed, and no secret is lost', async () => {
  const rotation = { ...flags, client: app.client_id };
  let first: Record<string, unknown> | undefined;
  proxy.hook = async ({ operation }) => {
    if (operation !== 'UpdateItem') return undefined;
    proxy.hook = () => undefined;
    first = await operate('clients', 'rotate', rotation);
    return undefined;
  };
  await expect(operate('clients', 'rotate', rotation)).rejects.toThrow(
    'Somebody else changed the secrets meanwhile; nothing was changed.',
  );
  const client = { ...app, client_secret: String(first?.client_secret) };
  advance(30);
  expect((await service.token({ grant_type: 'client_credentials' }, client)).status).toBe(200);
  expect((await service.token({ grant_type: 'client_credentials' }, app)).status).toBe(200);
});
