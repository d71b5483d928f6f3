import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { type ClientKey, newClientKey, secretlessClients } from '../support/client-assertions.ts';
import { expectError } from '../support/expectations.ts';
import {
  createAccount,
  createClient,
  createLoginApp,
  type LoginApp,
} from '../support/login-app.ts';
import { newPerson } from '../support/people.ts';
import { type Answer, type Service, unique } from '../support/service.ts';
import { twice, twoInstances } from '../support/two-instances.ts';

/** What an operator takes away from single clients and accounts, and gives back. */
const { service, second, both, advance } = await twoInstances();
const { operate } = service;

const outcome = ({ status, body }: Answer): unknown =>
  status < 400 ? status : [status, body.error];
const unauthorizedClient = [400, 'unauthorized_client'];

/** @see RFC 6749 section 5.2, RFC 9700 section 2.3 (as few privileges as needed) */
describe('the grants of a client', () => {
  const newClient = (grantTypes = 'all') =>
    createClient(service, service.demo.login_app.login_app_id, { 'grant-types': grantTypes });
  const update = ({ login_app_id, client_id }: LoginApp, grantTypes: string) =>
    operate('clients', 'update', {
      'login-app': login_app_id,
      client: client_id,
      'grant-types': grantTypes,
    });
  const logIn = async (instance: Service, client: LoginApp) =>
    outcome(await instance.logIn(unique('alice'), 'provider_f', client));
  const byCode = async (instance: Service, client: LoginApp) => {
    const form = await instance.loginForm('provider_b', {}, 'provider_authorization_code');
    return outcome(await instance.token(form, client));
  };
  const refresh = async (instance: Service, client: LoginApp, refresh_token = 'rt.made-up') =>
    outcome(await instance.refresh(refresh_token, client));
  const itself = async (instance: Service, client: LoginApp) =>
    outcome(await instance.token({ grant_type: 'client_credentials' }, client));

  test.each([
    ['provider_credentials', [200, unauthorizedClient, unauthorizedClient, unauthorizedClient]],
    [
      'provider_authorization_code',
      [unauthorizedClient, 200, unauthorizedClient, unauthorizedClient],
    ],
    [
      'refresh_token',
      [unauthorizedClient, unauthorizedClient, [400, 'invalid_grant'], unauthorizedClient],
    ],
    ['client_credentials', [unauthorizedClient, unauthorizedClient, unauthorizedClient, 200]],
    ['provider_credentials,client_credentials', [200, unauthorizedClient, unauthorizedClient, 200]],
    ['all', [200, 200, [400, 'invalid_grant'], 200]],
  ])('%s: the client may use no others', async (grantTypes, expected) => {
    const client = await newClient(grantTypes);
    expect([
      await logIn(service, client),
      await byCode(service, client),
      await refresh(service, client),
      await itself(service, client),
    ]).toEqual(expected);
  });

  test('the error names the grant, and no provider is asked', async () => {
    const client = await newClient('client_credentials');
    const form = {
      grant_type: 'provider_credentials',
      provider: 'provider_a',
      access_token: 'made-up',
    };
    expectError(await service.token(form, client), {
      status: 400,
      error: 'unauthorized_client',
      naming: 'The client may not use the grant provider_credentials.',
    });
  });

  test('a change is noticed within 30 seconds, and can be undone', async () => {
    const client = await newClient();
    const { refreshToken } = await newPerson(service, unique('alice'), client);
    const uses = (instance: Service) =>
      Promise.all([
        logIn(instance, client),
        refresh(instance, client, refreshToken),
        itself(instance, client),
      ]);
    expect(await both(uses)).toEqual(twice([200, 200, 200]));
    expect(await update(client, 'client_credentials')).toMatchObject({
      grant_types: ['client_credentials'],
    });
    advance(30);
    expect(await both(uses)).toEqual(twice([unauthorizedClient, unauthorizedClient, 200]));
    await update(client, 'all');
    advance(30);
    expect(await both(uses)).toEqual(twice([200, 200, 200]));
  });

  test('a client with none may introspect and nothing else', async () => {
    const client = await newClient('none');
    expect([await logIn(service, client), await itself(service, client)]).toEqual([
      unauthorizedClient,
      unauthorizedClient,
    ]);
    // The session of a revoked client is ended by any other of the Login App, but not by this one.
    const former = await newClient();
    const subject = unique('alice');
    const { token, refreshToken } = await newPerson(service, subject, former);
    const elsewhere = await newPerson(service, subject);
    const sessionIds = async () => {
      const { body } = await elsewhere.account.sessions();
      return body.sessions.map(({ id }: { id: string }) => id).toSorted();
    };
    const [left, kept] = [token, elsewhere.token].map((one) => String(decodeJwt(one).sid));
    expect((await service.introspect(token, client)).body).toMatchObject({ active: true });
    const flags = { 'login-app': former.login_app_id, client: former.client_id };
    await operate('clients', 'revoke', flags);
    advance(30);
    expect(outcome(await service.revoke(refreshToken, client))).toEqual(unauthorizedClient);
    expect(await sessionIds()).toEqual([left, kept].toSorted());
    expect(outcome(await service.revoke(refreshToken))).toBe(200);
    expect(await sessionIds()).toEqual([kept]);
  });
});

test('a key, and a client without a secret, are of no use 30 seconds after they are removed', async () => {
  const { login_app_id } = service.demo.login_app;
  const [removed, left] = await Promise.all([newClientKey(), newClientKey()]);
  const { createWithKeys } = secretlessClients(service);
  const client = await createWithKeys([removed, left]);
  const about = { 'login-app': login_app_id, client };
  const by = (key: ClientKey) => async (instance: Service) => {
    const { assertion, send } = secretlessClients(instance);
    const { iat = 0 } = decodeJwt(await service.loginAppToken());
    const jwt = await assertion(client, key, {
      exp: iat + 60,
      aud: secretlessClients(service).aud,
    });
    return outcome(await send(jwt));
  };
  expect([await both(by(removed)), await both(by(left))]).toEqual([twice(200), twice(200)]);
  await operate('clients', 'revoke', { ...about, key: removed.thumbprint });
  advance(30);
  const invalid = twice([401, 'invalid_client']);
  expect([await both(by(removed)), await both(by(left))]).toEqual([invalid, twice(200)]);

  const form = { grant_type: 'client_credentials', scope: 'recipients' };
  const { assertion, send } = secretlessClients(service);
  const { iat = 0 } = decodeJwt(await service.loginAppToken());
  const { access_token } = (await send(await assertion(client, left, { exp: iat + 60 }), form))
    .body;
  const headers = { authorization: `Bearer ${access_token}` };
  const recipients = async (instance: Service) =>
    outcome(
      await instance.call('/v2/marketing/push_notifications/recipients?shard=0', { headers }),
    );
  expect(await both(recipients)).toEqual(twice(200));
  await operate('clients', 'revoke', about);
  advance(30);
  expect(await both(by(left))).toEqual(invalid);
  expect(await both(recipients)).toEqual(twice([401, 'invalid_token']));
});

describe('an account', () => {
  /** An account with an access request of its own. */
  async function newAccount(flags: object = {}) {
    const account = await createAccount(service, flags);
    const of = { account: account.account_id };
    const id = Number((await operate('access-requests', 'create', of)).access_request_id);
    const search = async (instance: Service) => outcome(await instance.search('', { account, id }));
    const write = async (instance: Service) => [
      outcome(await instance.addEvent('comments', comment, { account, id })),
      outcome(
        await instance.addEvent('reviews', { ...comment, status: 'approved' }, { account, id }),
      ),
      outcome(await instance.createAccessRequest({ account })),
    ];
    return { account, of, id, search, write };
  }
  const comment = { actor_type: 'custom', actor_id: '7', comment: 'x' };
  const forbidden = [403, 'forbidden'];

  test('that is disabled: 401 with the right secret, until it is enabled', async () => {
    const { account, of, id, search } = await newAccount();
    expect(await both(search)).toEqual(twice(200));
    expect(await operate('accounts', 'disable', of)).toEqual({
      account_id: of.account,
      disabled: true,
    });
    advance(30);
    expect(await both(search)).toEqual(twice([401, 'unauthorized']));
    expectError(await service.search('', { account, id }), {
      status: 401,
      error: 'unauthorized',
      naming: 'The account is disabled.',
    });
    const { account_secret } = await operate('accounts', 'rotate', of);
    const renewed = { ...account, account_secret: String(account_secret) };
    expect((await service.search('', { account: renewed, id })).status).toBe(401);

    await operate('accounts', 'enable', of);
    advance(30);
    expect(await both(search)).toEqual(twice(200));
  });

  test('that is disabled tells nobody without its secret', async () => {
    const { account, of } = await newAccount();
    await operate('accounts', 'disable', of);
    const guess = { ...account, account_secret: 'acs_made-up' };
    const stranger = { ...guess, account_id: `ac_${'A'.repeat(22)}` };
    const [known, unknown] = [
      await service.search('', { account: guess }),
      await service.search('', { account: stranger }),
    ];
    expect(known.body).toEqual(unknown.body);
  });

  test('that may only read searches; whatever it writes is a 403, even if it is malformed', async () => {
    const { account, id, search, write } = await newAccount({ access: 'read' });
    expect(await both(search)).toEqual(twice(200));
    expect(await both(write)).toEqual(twice([forbidden, forbidden, forbidden]));
    expectError(await service.addEvent('comments', 'no JSON', { account, id }), {
      status: 403,
      error: 'forbidden',
      naming: 'The account may only read.',
    });
    expect((await service.search('', { account, id })).body.total).toBe(0);
  });

  test('accounts update takes the right to write away, and gives it back', async () => {
    const { of, search, write } = await newAccount();
    const update = (access: string) => operate('accounts', 'update', { ...of, access });
    expect(await both(write)).toEqual(twice([201, 201, 201]));
    expect(await update('read')).toEqual({ account_id: of.account, access: 'read' });
    advance(30);
    expect(await both(write)).toEqual(twice([forbidden, forbidden, forbidden]));
    expect(await both(search)).toEqual(twice(200));
    await update('read-write');
    advance(30);
    expect(await both(write)).toEqual(twice([201, 201, 201]));
  });

  test.each(['disable', 'enable', 'update'])('accounts %s of none: an error', async (verb) => {
    const unknown = {
      account: `ac_${'A'.repeat(22)}`,
      ...(verb === 'update' && { access: 'read' }),
    };
    await expect(operate('accounts', verb, unknown)).rejects.toThrow('There is no such account.');
  });
});

const device = () => ({ platform: 'android', token: unique('phone') });
const clientCredentials = { grant_type: 'client_credentials' };

describe('what a warm function caches ends within 30 seconds', () => {
  test('a revoked long-lived Login App Token', async () => {
    const flags = { 'login-app': service.demo.login_app.login_app_id };
    const { token_id, login_app_token } = await service.operate('login-apps', 'tokens create', {
      ...flags,
      name: 'iOS app',
    });
    const register = async () => (await service.register(device(), String(login_app_token))).status;
    expect(await register()).toBe(201);
    await service.operate('login-apps', 'tokens revoke', { ...flags, token: token_id });
    advance(30);
    expect(await register()).toBe(401);
  });

  test('the old secret of a client; until it is revoked, both are valid', async () => {
    const old = await createLoginApp(service, unique('app'));
    const flags = { 'login-app': old.login_app_id, client: old.client_id };
    const { client_secret, old_secrets } = await service.operate('clients', 'rotate', flags);
    const renewed = { ...old, client_secret: String(client_secret) };
    const status = async (client: typeof old) =>
      (await service.token(clientCredentials, client)).status;
    expect([await status(old), await status(renewed)]).toEqual([200, 200]);
    await expect(service.operate('clients', 'rotate', flags)).rejects.toThrow(
      'There are two secrets already',
    );
    const [{ secret_id }] = old_secrets as [{ secret_id: string }];
    await service.operate('clients', 'revoke', { ...flags, secret: secret_id });
    advance(30);
    expect([await status(old), await status(renewed)]).toEqual([401, 200]);
  });

  test('the old secret of an account; until it is revoked, both are valid', async () => {
    const account = await createAccount(service);
    const flags = { account: account.account_id };
    const { access_request_id } = await service.operate('access-requests', 'create', flags);
    const id = Number(access_request_id);
    const { account_secret, old_secrets } = await service.operate('accounts', 'rotate', flags);
    const renewed = { ...account, account_secret: String(account_secret) };
    const status = async (as: typeof account) =>
      (await service.search('', { account: as, id })).status;
    expect([await status(account), await status(renewed)]).toEqual([200, 200]);
    const [{ secret_id }] = old_secrets as [{ secret_id: string }];
    await service.operate('accounts', 'revoke', { ...flags, secret: secret_id });
    advance(30);
    expect([await status(account), await status(renewed)]).toEqual([401, 200]);
  });

  test('a client, with its Login App Tokens and the sessions it began', async () => {
    const { login_app: sibling } = service.demo;
    const client = await createClient(service, sibling.login_app_id);
    const appToken = await service.loginAppToken(client);
    const { access_token, refresh_token } = (
      await service.logIn(unique('alice'), 'provider_d', client)
    ).body;
    const register = async () => (await service.register(device(), appToken)).status;
    const list = async () => (await service.listDevices(access_token)).status;
    const described = () =>
      Promise.all(
        [access_token, refresh_token, appToken].map(
          async (token) => (await service.introspect(token, sibling)).body,
        ),
      );
    expect([await register(), await list()]).toEqual([201, 200]);
    expect(await described()).toMatchObject(
      Array(3).fill({ active: true, client_id: client.client_id }),
    );

    const flags = { 'login-app': client.login_app_id, client: client.client_id };
    await service.operate('clients', 'revoke', flags);
    advance(30);
    expect((await service.refresh(refresh_token, client)).status).toBe(401);
    expect([await register(), await list()]).toEqual([401, 401]);
    expect(await described()).toEqual(Array(3).fill({ active: false }));
  });
});

test('a token of a client that is new is active at once, to a function that has just read the clients', async () => {
  await service.introspect('unknown');
  const client = await createClient(service, service.demo.login_app.login_app_id);
  const token = await second.service.loginAppToken(client);
  expect((await service.introspect(token)).body).toMatchObject({
    active: true,
    client_id: client.client_id,
  });
});
