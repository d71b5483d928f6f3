import { describe, expect, test } from '@jest/globals';
import { createClient } from '../support/login-app.ts';
import { ownService } from '../support/own-service.ts';
import { unique } from '../support/service.ts';

const { running, service } = await ownService({}, { movableClock: true });

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
    running.advance(30);
    expect(await register()).toBe(401);
  });

  test('the old secret of a client; until it is revoked, both are valid', async () => {
    const { login_app_id, client_id } = service.demo.other_login_app;
    const flags = { 'login-app': login_app_id, client: client_id };
    const { client_secret, old_secrets } = await service.operate('clients', 'rotate', flags);
    const old = service.demo.other_login_app;
    const renewed = { ...old, client_secret: String(client_secret) };
    const status = async (client: typeof old) => (await service.token(clientCredentials, client)).status;
    expect([await status(old), await status(renewed)]).toEqual([200, 200]);
    await expect(service.operate('clients', 'rotate', flags)).rejects.toThrow(
      'There are two secrets already',
    );
    const [{ secret_id }] = old_secrets as [{ secret_id: string }];
    await service.operate('clients', 'revoke', { ...flags, secret: secret_id });
    running.advance(30);
    expect([await status(old), await status(renewed)]).toEqual([401, 200]);
  });

  test('the old secret of an account; until it is revoked, both are valid', async () => {
    const account = service.demo.account;
    const flags = { account: account.account_id };
    const { account_secret, old_secrets } = await service.operate('accounts', 'rotate', flags);
    const renewed = { ...account, account_secret: String(account_secret) };
    const status = async (as: typeof account) => (await service.search('', { account: as })).status;
    expect([await status(account), await status(renewed)]).toEqual([200, 200]);
    const [{ secret_id }] = old_secrets as [{ secret_id: string }];
    await service.operate('accounts', 'revoke', { ...flags, secret: secret_id });
    running.advance(30);
    expect([await status(account), await status(renewed)]).toEqual([401, 200]);
  });

  test('a client, with its Login App Tokens and the sessions it began', async () => {
    const { login_app: sibling } = service.demo;
    const client = await createClient(service, sibling.login_app_id);
    const appToken = await service.loginAppToken(client);
    const { access_token, refresh_token } = (await service.logIn(unique('alice'), 'provider_d', client)).body;
    const register = async () => (await service.register(device(), appToken)).status;
    const list = async () => (await service.listDevices(access_token)).status;
    const described = () =>
      Promise.all(
        [access_token, refresh_token, appToken].map(
          async (token) => (await service.introspect(token, sibling)).body,
        ),
      );
    expect([await register(), await list()]).toEqual([201, 200]);
    expect(await described()).toMatchObject(Array(3).fill({ active: true, client_id: client.client_id }));

    const flags = { 'login-app': client.login_app_id, client: client.client_id };
    await service.operate('clients', 'revoke', flags);
    running.advance(30);
    expect((await service.refresh(refresh_token, client)).status).toBe(401);
    expect([await register(), await list()]).toEqual([401, 401]);
    expect(await described()).toEqual(Array(3).fill({ active: false }));
  });
});
