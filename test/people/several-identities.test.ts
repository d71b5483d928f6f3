import { DynamoDBDocumentClient, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { sessionKey } from '../../lib/storage/keys.ts';
import { newIssuerLogin } from '../support/issuer-login.ts';
import { identityIdsOf, isIn, newPhone } from '../support/people.ts';
import { codeExchangeAt, ourApp, startProviderStandIn } from '../support/provider-stand-in.ts';
import { unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import { isWrite, type StoreCall } from '../support/store-proxy.ts';

const { running, service, proxy, dynamoDb, tableName } = await sharedServiceWithStore();
const standIn = await startProviderStandIn();

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';
const purged = 'risc/event-type/account-purged';

type Settings = Record<string, unknown>;

/** A person who logs in as bob and has linked alice, about whom the notifications are. */
async function newPersonOfTwo(
  settings: Settings = { notifications: { on_account_purged: 'delete' } },
) {
  const login = await newIssuerLogin(service, standIn, settings);
  const { scene, subject, logIn } = login;
  const bob = unique('bob');
  const own = await logIn(bob);
  const id_token = await scene.idToken({ sub: subject });
  const link = await own.account.link({ provider: 'provider_f', id_token });
  expect(link.status).toBe(201);
  const logOut = async () => {
    const events = { [logoutEvent]: {} };
    const iat = running.now();
    const claims = { sub: subject, iat, exp: iat + 120, jti: unique('jti'), events };
    return login.sendForm({ logout_token: await scene.idToken(claims, { typ: 'logout+jwt' }) });
  };
  const tell = async (name: string, event: object = {}) =>
    login.push(await login.setOf(name, {}, event));
  return { ...login, bob, own, linked: String(link.body.id), logOut, tell };
}
type Made = Awaited<ReturnType<typeof newPersonOfTwo>>;

/** Acts once, just before a request writes to the store. */
function beforeTheWrite(act: () => Promise<unknown>, counts = isWrite) {
  let isDone = false;
  return async (call: StoreCall) => {
    if (isDone || !counts(call)) return undefined;
    isDone = true;
    await act();
    return undefined;
  };
}
const isTransaction = ({ operation }: StoreCall) => operation === 'TransactWriteItems';

describe('a notification about one of two identities', () => {
  test.each<[string, (made: Made) => Promise<{ status: number }>, Settings]>([
    ['consent-revoked', ({ notify }) => notify('consent-revoked'), {}],
    ['a logout token', ({ logOut }) => logOut(), { notifications: {} }],
    [
      'account-disabled',
      ({ tell }) => tell('risc/event-type/account-disabled'),
      { notifications: {} },
    ],
    [
      'sessions-revoked',
      ({ tell }) => tell('risc/event-type/sessions-revoked'),
      { notifications: {} },
    ],
  ])('%s ends what began with it, and nothing else', async (_, send, settings) => {
    const made = await newPersonOfTwo(settings);
    const { logIn, own, bob } = made;
    const [thief, again] = [await logIn(), await logIn(bob)];
    expect(thief.loginUserId).toBe(own.loginUserId);
    expect((await send(made)).status).toBeLessThan(300);
    expect([await isIn(thief), await isIn(own), await isIn(again)]).toEqual([false, true, true]);
    expect((await logIn()).loginUserId).toBe(own.loginUserId);
  });

  test.each<[string, (made: Made) => Promise<{ status: number }>, Settings]>([
    ['account-delete', ({ notify }) => notify('account-delete'), { on_account_deleted: 'delete' }],
    [
      'account-purged',
      ({ tell }) => tell(purged),
      { notifications: { on_account_purged: 'delete' } },
    ],
  ])('%s with delete: the identity goes, the person stays', async (_, send, settings) => {
    const made = await newPersonOfTwo(settings);
    const { logIn, own, bob, linked } = made;
    const thief = await logIn();
    expect((await send(made)).status).toBeLessThan(300);
    expect([await isIn(thief), await isIn(own)]).toEqual([false, true]);
    expect(identityIdsOf(await own.account.show())).not.toContain(linked);
    expect((await logIn()).loginUserId).not.toBe(own.loginUserId);
    expect((await logIn(bob)).loginUserId).toBe(own.loginUserId);
    expect(running.output()).toContain('"outcome":"unlinked"');
  });

  test('the first identity goes like any other, and the last one takes the person along', async () => {
    const { scene, logIn, push, setOf, own, bob } = await newPersonOfTwo();
    const about = (sub: string) => ({ sub_id: { format: 'iss_sub', iss: scene.url, sub } });
    const other = await logIn();
    expect((await push(await setOf(purged, about(bob)))).status).toBe(202);
    expect([await isIn(own), await isIn(other)]).toEqual([false, true]);
    expect(identityIdsOf(await other.account.show())).toHaveLength(1);
    expect((await logIn(bob)).loginUserId).not.toBe(own.loginUserId);
    expect((await push(await setOf(purged))).status).toBe(202);
    expect(await isIn(other)).toBe(false);
    expect((await logIn()).loginUserId).not.toBe(own.loginUserId);
  });

  test('the token that the provider gave with it is revoked', async () => {
    const { app, scene, logIn, push, setOf } = await newIssuerLogin(service, standIn);
    scene.answer('token', async ({ code: sub }) => ({
      body: { id_token: await scene.idToken({ sub }), refresh_token: `token of ${sub}` },
    }));
    const code_exchange = codeExchangeAt(scene);
    const notifications = { on_account_purged: 'delete' };
    const issuers = [{ issuer: scene.url, audiences: [ourApp], notifications, code_exchange }];
    await service.setProvider(app, 'provider_f', { issuers });
    const [alice, bob] = [unique('alice'), unique('bob')];
    const own = await logIn(bob);
    const form = { provider: 'provider_f', id_token: await scene.idToken({ sub: alice }) };
    expect((await own.account.link({ ...form, authorization_code: alice })).status).toBe(201);
    const sub_id = { format: 'iss_sub', iss: scene.url, sub: alice };
    expect((await push(await setOf(purged, { sub_id }))).status).toBe(202);
    expect(scene.forms('revoke').map(({ token }) => token)).toEqual([`token of ${alice}`]);
    expect(await isIn(own)).toBe(true);
  });

  test('a session of 1.0.0, which does not say with which identity it began, ends if that was possible', async () => {
    const { logIn, logOut, own } = await newPersonOfTwo({ notifications: {} });
    const later = await logIn();
    for (const { loginUserId, token } of [own, later]) {
      const change = new UpdateCommand({
        TableName: tableName,
        Key: sessionKey(loginUserId, String(decodeJwt(token).sid)),
        UpdateExpression: 'REMOVE identity_id',
      });
      await DynamoDBDocumentClient.from(dynamoDb).send(change);
    }
    expect((await logOut()).status).toBe(200);
    expect([await isIn(own), await isIn(later)]).toEqual([true, false]);
  });

  test('phones that others of the person have related get messages still', async () => {
    const { app, logIn, logOut, own } = await newPersonOfTwo({ notifications: {} });
    const flags = { 'login-app': app.login_app_id, platform: 'android' };
    await service.operate('mobile-applications', 'set', flags);
    const appToken = await service.loginAppToken(app);
    const [ownPhone, otherPhone] = [
      await newPhone(service, appToken),
      await newPhone(service, appToken),
    ];
    await service.relate(ownPhone, own.token);
    await service.relate(otherPhone, (await logIn()).token);
    expect((await logOut()).status).toBe(200);
    const { devices } = await service.operate('devices', 'list', { 'login-user': own.loginUserId });
    expect(devices).toMatchObject([{ device_id: ownPhone }]);
  });

  test('a blocked person loses nothing: they could come back as somebody new', async () => {
    const { logIn, tell, own, linked } = await newPersonOfTwo();
    await service.operate('login-users', 'block', { 'login-user': own.loginUserId });
    expect((await tell(purged)).status).toBe(202);
    await service.operate('login-users', 'unblock', { 'login-user': own.loginUserId });
    expect(identityIdsOf(await own.account.show())).toContain(linked);
    expect((await logIn()).loginUserId).toBe(own.loginUserId);
  });
});

describe('a person who acts just before a notification is carried out', () => {
  test('a login with the identity: nobody is deleted', async () => {
    const settings = { notifications: { on_account_purged: 'delete' } };
    const { logIn, push, setOf } = await newIssuerLogin(service, standIn, settings);
    const person = await logIn();
    const set = await setOf(purged);
    let again = person;
    const act = async () => {
      again = await logIn();
    };
    expect((await proxy.during(beforeTheWrite(act), () => push(set))).status).toBe(202);
    expect([again.loginUserId, await isIn(again)]).toEqual([person.loginUserId, true]);
  });

  test('a login with one of two identities: it is not unlinked', async () => {
    const { logIn, tell, own, linked } = await newPersonOfTwo();
    let again = own;
    const act = async () => {
      again = await logIn();
    };
    const request = () => tell(purged);
    expect((await proxy.during(beforeTheWrite(act, isTransaction), request)).status).toBe(202);
    expect([again.loginUserId, await isIn(again)]).toEqual([own.loginUserId, true]);
    expect(identityIdsOf(await own.account.show())).toContain(linked);
  });

  test('a login with the other identity: the one goes all the same', async () => {
    const { logIn, tell, own, bob, linked } = await newPersonOfTwo();
    const act = () => logIn(bob);
    await proxy.during(beforeTheWrite(act, isTransaction), () => tell(purged));
    expect(identityIdsOf(await own.account.show())).not.toContain(linked);
  });

  test('a link: the person is not deleted, only the identity goes', async () => {
    const settings = { notifications: { on_account_purged: 'delete' } };
    const { scene, logIn, push, setOf } = await newIssuerLogin(service, standIn, settings);
    const person = await logIn();
    const set = await setOf(purged);
    const id_token = await scene.idToken({ sub: unique('bob') });
    const act = () => person.account.link({ provider: 'provider_f', id_token });
    await proxy.during(beforeTheWrite(act, isTransaction), () => push(set));
    const flags = { 'login-user': person.loginUserId };
    expect(await service.operate('identities', 'list', flags)).toMatchObject({ identities: [{}] });
    expect((await logIn()).loginUserId).not.toBe(person.loginUserId);
  });
});
