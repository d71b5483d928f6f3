import { DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, test } from '@jest/globals';
import { untilDone } from '../../infra/operator/run-command.ts';
import { importedAccessRequestKey } from '../../lib/storage/keys.ts';
import { itemsAbout } from '../support/items-about.ts';
import { createAccount, createLoginApp } from '../support/login-app.ts';
import { newPerson, newPhone } from '../support/people.ts';
import { unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';

const started = await startServiceWithStore({}, { movableClock: true });
const { running, service, proxy } = started;
const itemsNaming = (id: string) => itemsAbout(started, id);
const { operate } = service;

/**
 * A Login App that people can log in with, with one person and two phones, of which one is theirs.
 */
async function usedApp() {
  const app = await createLoginApp(service, unique('app'), {
    platforms: ['android'],
    providers: ['provider_f'],
  });
  const flags = { 'login-app': app.login_app_id };
  const person = await newPerson(service, unique('alice'), app);
  const appToken = await service.loginAppToken(app);
  const phone = await newPhone(service, appToken);
  const installed = {
    platform: 'android',
    token: unique('phone'),
    installation_id: unique('installation'),
  };
  const { id: tablet } = (await service.register(installed, appToken)).body;
  await service.relate(phone, person.token);
  return { app, flags, person, tablet };
}

describe('login-apps delete', () => {
  test('refuses while people could log in', async () => {
    const { app, flags, person } = await usedApp();
    const keeps = (reason: string) =>
      expect(operate('login-apps', 'delete', flags)).rejects.toThrow(
        `The Login App is not deleted: ${reason}. --with-everything deletes its people and devices too.`,
      );
    await keeps('it has Login Users');
    await operate('login-users', 'delete', { 'login-user': person.loginUserId });
    await keeps('it has devices');
    const unused = await createLoginApp(service, unique('app'), { providers: ['provider_f'] });
    const ofUnused = { 'login-app': unused.login_app_id };
    await expect(operate('login-apps', 'delete', ofUnused)).rejects.toThrow(
      'it is enabled, and people can log in',
    );
    expect((await service.token({ grant_type: 'client_credentials' }, app)).status).toBe(200);
  });

  test('with everything: nothing about it is left, once every instance knows that it is disabled', async () => {
    const { app, flags, person, tablet } = await usedApp();
    const everything = { ...flags, 'with-everything': true };
    const first = await operate('login-apps', 'delete', everything);
    expect(first).toEqual({
      login_app_id: app.login_app_id,
      deleted: false,
      removed: { login_users: 1, devices: 2 },
      again_after_seconds: 60,
    });
    // An instance that cached the Login App doesn't know yet, so somebody else gets in.
    expect((await service.logIn(unique('bob'), 'provider_f', app)).status).toBe(200);
    running.advance(60);
    expect(await operate('login-apps', 'delete', everything)).toEqual({
      login_app_id: app.login_app_id,
      deleted: true,
      removed: { login_users: 1, devices: 0 },
    });
    expect(await itemsNaming(app.login_app_id)).toEqual([]);
    expect(await itemsNaming(person.loginUserId)).toEqual([]);
    expect(await itemsNaming(tablet)).toEqual([]);
    await expect(operate('login-apps', 'delete', everything)).rejects.toThrow(
      'There is no such Login App.',
    );
  });

  test('a step that runs out of time says that there is more to delete, and the next one goes on', async () => {
    const { app, flags } = await usedApp();
    await operate('login-apps', 'disable', flags);
    running.advance(60);
    const everything = { ...flags, 'with-everything': true };
    // Of 16 shards of devices, there is time for one.
    proxy.hook = ({ body }) => {
      if (body.IndexName === 'by_shard') running.advance(5);
      return undefined;
    };
    expect(await operate('login-apps', 'delete', everything)).toMatchObject({
      deleted: false,
      again_after_seconds: 0,
    });
    proxy.hook = () => undefined;
    expect(await operate('login-apps', 'delete', everything)).toMatchObject({ deleted: true });
    expect(await itemsNaming(app.login_app_id)).toEqual([]);
  });

  test('a step that was interrupted is done again', async () => {
    const { app, flags } = await usedApp();
    await operate('login-apps', 'disable', flags);
    running.advance(60);
    const everything = { ...flags, 'with-everything': true };
    let deletions = 0;
    for (let failing = 1; failing < 20; failing += 1) {
      deletions = 0;
      proxy.hook = ({ operation }) => {
        if (operation !== 'DeleteItem') return undefined;
        deletions += 1;
        return deletions >= failing ? 'fails before' : undefined;
      };
      const done = await operate('login-apps', 'delete', everything).catch(() => undefined);
      if (done?.deleted) break;
      expect(await itemsNaming(app.login_app_id)).not.toEqual([]);
    }
    proxy.hook = () => undefined;
    // At most what remains of any deleted person, which is no personal data.
    const left = await itemsNaming(app.login_app_id);
    expect(left.filter(({ deleted_at }) => deleted_at === undefined)).toEqual([]);
  });
});

test('accounts delete: the account and its accesses are gone, its access requests stay', async () => {
  const account = await createAccount(service);
  const { account_id } = account;
  const created = await service.createAccessRequest({
    account,
    headers: { 'idempotency-key': 'x' },
  });
  const id = created.body.id;
  const flags = { account: account_id };
  const comment = { 'access-request': id, 'actor-type': 'custom', 'actor-id': '7', comment: 'x' };
  await operate('comments', 'add', comment);
  expect(await operate('accounts', 'delete', flags)).toEqual({
    account_id,
    deleted: true,
    removed: { accesses: 1 },
  });
  expect(await operate('access-requests', 'show', { 'access-request': id })).toMatchObject({
    events: 1,
    accounts: [],
  });
  running.advance(31);
  expect((await service.search('', { account, id })).status).toBe(401);
  await expect(operate('accounts', 'delete', flags)).rejects.toThrow('There is no such account.');
});

test('accounts delete that runs out of time says that there is more to delete, and the account stays', async () => {
  const { account_id } = await operate('accounts', 'create', { name: 'Test' });
  const flags = { account: account_id };
  const { access_request_id: id } = await operate('access-requests', 'create', flags);
  const key = { pk: { S: `ACCESS_REQUEST#${id}` }, sk: { S: `ACCOUNT#${account_id}` } };
  const LastEvaluatedKey = { ...key, list: { S: `ACCESS_REQUESTS_OF#${account_id}` } };
  proxy.hook = ({ operation, body }) => {
    if (operation === 'DeleteItem') running.advance(5);
    // The first page of many.
    return body.IndexName === 'by_list'
      ? { status: 200, body: { Items: Array(100).fill(key), LastEvaluatedKey } }
      : undefined;
  };
  expect(await operate('accounts', 'delete', flags)).toEqual({
    account_id,
    deleted: false,
    removed: { accesses: 1 },
    again_after_seconds: 0,
  });
  proxy.hook = () => undefined;
  expect(await operate('accounts', 'delete', flags)).toMatchObject({ deleted: true });
});

test('accounts delete: an account whose items take longer to read than a step lasts is deleted, too', async () => {
  const { account_id } = await operate('accounts', 'create', { name: 'Test' });
  const documents = DynamoDBDocumentClient.from(started.dynamoDb);
  // 2.6 MB: the store reads 1 MB at a time.
  for (let number = 0; number < 7; number += 1) {
    const key = importedAccessRequestKey(String(account_id), `id-${number}`);
    const Item = { ...key, filler: 'x'.repeat(380_000) };
    await documents.send(new PutCommand({ TableName: started.tableName, Item }));
  }
  proxy.hook = ({ operation }) => {
    if (operation === 'Query') running.advance(1.5);
    return undefined;
  };
  let steps = 0;
  do steps += 1;
  while (!(await operate('accounts', 'delete', { account: account_id })).deleted && steps < 10);
  proxy.hook = () => undefined;
  expect(steps).toBeGreaterThan(1);
  expect(await itemsNaming(String(account_id))).toEqual([]);
});

describe('people', () => {
  test('login-users export has everything but push tokens and secrets', async () => {
    const { app, person } = await usedApp();
    const flags = { 'login-user': person.loginUserId };
    const exported = await operate('login-users', 'export', flags);
    expect(exported).toMatchObject({
      login_user: { login_user_id: person.loginUserId, login_app_id: app.login_app_id },
      identities: [{ provider: 'provider_f', subject: person.subject }],
      sessions: [{ client_id: app.client_id }],
      devices: [{ platform: 'android', login_user_id: person.loginUserId }],
      log_lines: {
        where: expect.stringContaining('AuditLogGroup'),
        filter_pattern: `{ $.login_user_id = "${person.loginUserId}" }`,
      },
    });
    expect(JSON.stringify(exported)).not.toMatch(/"token"|secret/);
  });

  test('login-users delete says what it removed', async () => {
    const { person } = await usedApp();
    await person.account.linkAt('provider_f', unique('linked'));
    const flags = { 'login-user': person.loginUserId };
    expect(await operate('login-users', 'delete', flags)).toEqual({
      login_user_id: person.loginUserId,
      sessions_ended: 1,
      removed: { sessions: 1, device_relations: 1, identities: 2 },
      deleted: true,
    });
    await expect(operate('login-users', 'export', flags)).rejects.toThrow(
      'There is no such Login User.',
    );
  });
});

test('the command line repeats a deletion until it is done, and adds up what was removed', async () => {
  const steps = [
    { deleted: false, removed: { login_users: 2, devices: 1 }, again_after_seconds: 0 },
    { deleted: false, removed: { login_users: 3, devices: 0 }, again_after_seconds: 42 },
    { login_app_id: 'la_1', deleted: true, removed: { login_users: 1, devices: 0 } },
  ];
  const pauses: number[] = [];
  const result = await untilDone(
    async () => steps.shift() ?? {},
    async (seconds) => void pauses.push(seconds),
  );
  expect(result).toEqual({
    login_app_id: 'la_1',
    deleted: true,
    removed: { login_users: 6, devices: 1 },
  });
  expect(pauses).toEqual([0, 42]);
});
