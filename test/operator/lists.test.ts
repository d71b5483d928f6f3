import { describe, expect, test } from '@jest/globals';
import * as v from 'valibot';
import { createLoginApp } from '../support/login-app.ts';
import { allOf, failed, succeeded, writeSettings } from '../support/operator.ts';
import { eventuallyPasses } from '../support/people.ts';
import { sharedService, unique } from '../support/service.ts';

const listSchema = v.array(v.record(v.string(), v.unknown()));
const service = sharedService();
const { operate } = service;
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);

/** A Login App where people can log in with provider_f, and phones can be registered. */
const newApp = () =>
  createLoginApp(service, unique('app'), { platforms: ['android'], providers: ['provider_f'] });

describe('npm run operator: accounts', () => {
  test('find lists those whose names begin so, in any case and by name; list shows them too', async () => {
    const start = unique('Bureau');
    const create = async (name: string) =>
      (await operate('accounts', 'create', { name })).account_id;
    const [second, first] = [await create(`${start} ß`), await create(`${start.toUpperCase()} A`)];
    const found = async () =>
      (await allOf(['accounts', 'find', '--name', start], 'accounts')).map(idOf);
    await eventuallyPasses(async () => expect(await found()).toEqual([first, second]));
    const listed = (await allOf(['accounts', 'list'], 'accounts')).map(idOf);
    expect(listed.filter((id) => id === first || id === second)).toEqual([first, second]);
    expect(await succeeded('accounts', 'find', '--name', `${start} nobody`)).toEqual({
      accounts: [],
    });
  });

  test.each([
    ['accounts', 'account_id'],
    ['login-apps', 'login_app_id'],
  ])(
    '%s are sorted as a person sorts names: a name comes before those that go on',
    async (noun, id) => {
      const start = unique('Demo');
      const names = [
        `${start} without providers`,
        start.toUpperCase(),
        `${start.toLowerCase()} app`,
      ];
      const [last, first, second] = await Promise.all(
        names.map(async (name) => (await operate(noun, 'create', { name }))[id]),
      );
      const listOf = (result: Record<string, unknown>) =>
        v.parse(listSchema, Object.values(result)[0]);
      await eventuallyPasses(async () => {
        const found = listOf(await operate(noun, 'find', { name: start }));
        expect(found.map((member) => member[id])).toEqual([first, second, last]);
      });
    },
  );

  test('rename moves it in the list', async () => {
    const [before, now] = [unique('before'), unique('now')];
    const { account_id } = await operate('accounts', 'create', { name: before });
    const account = String(account_id);
    expect(await succeeded('accounts', 'rename', '--account', account, '--name', now)).toEqual({
      account_id,
      name: now,
    });
    const found = async (name: string) => (await operate('accounts', 'find', { name })).accounts;
    await eventuallyPasses(async () => {
      expect(await found(before)).toEqual([]);
      expect(await found(now)).toMatchObject([{ account_id, name: now }]);
    });
  });

  test('show says what it may do and whether it is disabled, and shows no secret', async () => {
    const { account_id, account_secret } = await operate('accounts', 'create', {
      name: 'X',
      access: 'read',
    });
    const flags = { account: account_id };
    const show = () => succeeded('accounts', 'show', '--account', String(account_id));
    const secrets = [{ secret_id: expect.stringMatching(/^sec_/), created_at: time }];
    const shown = {
      account_id,
      name: 'X',
      access: 'read',
      disabled: false,
      created_at: time,
      secrets,
    };
    expect(await show()).toEqual(shown);
    await operate('accounts', 'disable', flags);
    expect(await show()).toEqual({ ...shown, disabled: true, disabled_at: time });
    expect(JSON.stringify(await show())).not.toContain(account_secret);
  });

  test('a page has 100 members, and --after shows the next ones', async () => {
    const { account_id: account } = await operate('accounts', 'create', { name: 'Many' });
    const ids: unknown[] = [];
    for (let count = 0; count < 103; count += 1) {
      ids.push((await operate('access-requests', 'create', { account })).access_request_id);
    }
    const list = ['access-requests', 'list', '--account', String(account)];
    const page = await succeeded(...list);
    expect(Object(page.access_requests)).toHaveLength(100);
    const all = await allOf(list, 'access_requests');
    expect(all.map(({ access_request_id }) => access_request_id)).toEqual(ids);
    const elsewhere = ['accounts', 'list', '--after', String(page.next)];
    const line = '--after must be the next of the page before.';
    expect([await failed(...elsewhere), await failed('accounts', 'list', '--after', 'x')]).toEqual([
      line,
      line,
    ]);
  });
});

describe('npm run operator: Login Apps and clients', () => {
  test('list, find and show', async () => {
    const app = await newApp();
    const flags = { 'login-app': app.login_app_id };
    const { name } = await operate('login-apps', 'show', flags);
    const row = { login_app_id: app.login_app_id, name, disabled: false, created_at: time };
    await eventuallyPasses(async () =>
      expect(await operate('login-apps', 'find', { name })).toEqual({ login_apps: [row] }),
    );
    expect(await allOf(['login-apps', 'list'], 'login_apps')).toContainEqual(row);
    const { token_id } = await operate('login-apps', 'tokens create', { ...flags, name: 'Phones' });
    await operate('login-apps', 'disable', flags);
    const issuers = ['provider_f', 'provider_f/second'].map(
      (path) => `${service.demo.sandbox_url}/${path}`,
    );
    expect(await succeeded('login-apps', 'show', '--login-app', app.login_app_id)).toEqual({
      ...row,
      disabled: true,
      disabled_at: time,
      providers: ['provider_f'],
      logins: [
        {
          provider: 'provider_f',
          companies: issuers,
          protocol: 'oidc',
          grant_type: 'provider_credentials',
          required: ['id_token'],
          optional: [
            'access_token',
            'nonce',
            'authorization_code',
            'code_verifier',
            'redirect_uri',
            'user',
          ],
          issuers,
        },
      ],
      mobile_applications: ['android'],
      clients: [
        {
          client_id: app.client_id,
          grant_types: expect.any(Array),
          recipients: true,
          secrets: 1,
          created_at: time,
        },
      ],
      tokens: [{ token_id, name: 'Phones', created_at: time }],
    });
  });

  test('clients list and show: what a client may do, and whether its Login App is disabled', async () => {
    const app = await newApp();
    const flags = { 'login-app': app.login_app_id };
    await operate('clients', 'update', {
      ...flags,
      client: app.client_id,
      'grant-types': 'refresh_token',
    });
    await operate('login-apps', 'disable', flags);
    const client = {
      client_id: app.client_id,
      grant_types: ['refresh_token'],
      recipients: false,
      created_at: time,
    };
    expect(await succeeded('clients', 'list', '--login-app', app.login_app_id)).toEqual({
      login_app_id: app.login_app_id,
      clients: [{ ...client, secrets: 1 }],
    });
    expect(await succeeded('clients', 'show', '--client', app.client_id)).toEqual({
      login_app_id: app.login_app_id,
      ...client,
      secrets: [{ secret_id: expect.stringMatching(/^sec_/), created_at: time }],
      login_app_disabled: true,
    });
  });

  test('clients find: whose secret it is, of several clients and of two secrets', async () => {
    const app = await newApp();
    const flags = { 'login-app': app.login_app_id };
    await operate('clients', 'create', flags);
    const { client_secret: second } = await operate('clients', 'rotate', {
      ...flags,
      client: app.client_id,
    });
    const find = ['clients', 'find', '--login-app', app.login_app_id, '--secret-file'];
    const { secrets } = await operate('clients', 'show', { client: app.client_id });
    const found: unknown[] = [];
    for (const secret of [app.client_secret, String(second)]) {
      found.push(await succeeded(...find, writeSettings(secret)));
    }
    const known = { login_app_id: app.login_app_id, client_id: app.client_id };
    expect(found).toEqual(
      Object.values(Object(secrets)).map((secret) => ({ ...known, ...Object(secret) })),
    );
    expect(await failed(...find, writeSettings(`lcs_${'A'.repeat(43)}`))).toBe(
      'No client of the Login App has this secret.',
    );
  });
});

describe('npm run operator: access requests', () => {
  test('list those of an account; show who has access, and how many events there are', async () => {
    const accounts: unknown[] = [];
    for (const name of ['A', 'B'])
      accounts.push((await operate('accounts', 'create', { name })).account_id);
    const [account_id, other] = accounts;
    const created = await operate('access-requests', 'create', { account: account_id });
    const id = created.access_request_id;
    await operate('access-requests', 'grant', { 'access-request': id, account: other });
    const comment = { 'access-request': id, 'actor-type': 'custom', 'actor-id': '7', comment: 'x' };
    await operate('comments', 'add', comment);
    const shown = await succeeded('access-requests', 'show', '--access-request', String(id));
    expect(shown).toMatchObject({ ...created, events: 1 });
    expect(new Set(Object.values(Object(shown.accounts)).map(idOf))).toEqual(new Set(accounts));
    const listed = async () =>
      (await operate('access-requests', 'list', { account: other })).access_requests;
    await eventuallyPasses(async () =>
      expect(await listed()).toEqual([
        { access_request_id: id, granted_at: time, decision: 'none', approvals: 0 },
      ]),
    );
    await operate('access-requests', 'revoke', { 'access-request': id, account: other });
    await eventuallyPasses(async () => expect(await listed()).toEqual([]));
  });
});

const idOf = (member: unknown): unknown => Object(member).account_id;
