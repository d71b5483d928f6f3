import { describe, expect, test } from '@jest/globals';
import { itemsAbout } from '../support/items-about.ts';
import { createClient, createLoginApp, type LoginApp } from '../support/login-app.ts';
import { accountOf, identityIdsOf } from '../support/people.ts';
import { ourApp, type Scene, startProviderStandIn } from '../support/provider-stand-in.ts';
import { asClient, unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import {
  everyCrash,
  type Fault,
  failing,
  isWrite,
  type StoreCall,
} from '../support/store-proxy.ts';

const own = await sharedServiceWithStore();
const { service, running, proxy } = own;
const standIn = await startProviderStandIn();

/** Settings of the exchange of codes for id tokens. */
const exchangeOf = (scene: Scene) => ({
  token_url: `${scene.url}/token`,
  client_id: ourApp,
  client_secret: 'our-secret',
  client_authentication: 'form',
  id_token: { issuer: scene.url },
  revocation_url: `${scene.url}/revoke`,
});

/** A Login App whose provider_b gives refresh tokens, and a person who has logged in there. */
async function newLogin({ keeps = true } = {}) {
  const scene = standIn.openScene();
  const token = unique('provider-refresh-token');
  /** The refresh token that comes for the next codes. */
  const issue = (refresh_token: string) =>
    scene.answer('token', async () => ({
      body: { id_token: await scene.idToken({ sub: subject }), refresh_token },
    }));
  issue(token);
  const subject = unique('alice');
  const app = await createLoginApp(service, unique('app'));
  const { revocation_url, ...withoutRevocation } = exchangeOf(scene);
  const settings = {
    authorization_code: { ...withoutRevocation, ...(keeps && { revocation_url }) },
  };
  await service.setProvider(app, 'provider_b', settings);
  const code = { provider: 'provider_b', authorization_code: 'a-code' };
  const logIn = async () =>
    (await service.token({ grant_type: 'provider_authorization_code', ...code }, app)).body
      .access_token;
  const account = accountOf(service, await logIn());
  const { id } = (await account.show()).body;
  /** Every revocation so far, as a form. */
  const revoked = () => scene.forms('revoke');
  const answers = (status: number) => scene.answer('revoke', { status });
  const person = { 'login-user': id };
  return { app, code, logIn, account, person, token, revoked, answers, issue, scene, subject };
}

/** Sets up provider_f, too; a credential of somebody there. */
async function credentialAtProviderF(app: LoginApp) {
  const scene = standIn.openScene();
  await service.setProvider(app, 'provider_f', {
    issuers: [{ issuer: scene.url, audiences: [ourApp] }],
  });
  return { provider: 'provider_f', id_token: await scene.idToken({ sub: unique('bob') }) };
}

/** Somebody who logs in there. */
async function accountAtProviderF(app: LoginApp) {
  const { id_token } = await credentialAtProviderF(app);
  return accountOf(service, (await service.byIdToken(id_token, app)).body.access_token);
}

const revocation = (token: string) => ({
  token,
  token_type_hint: 'refresh_token',
  client_id: ourApp,
  client_secret: 'our-secret',
});
const retryFor = (person: object) =>
  service.operate('login-users', 'retry-revocations', { ...person });
const isStored = async (text: string): Promise<boolean> => (await itemsAbout(own, text)).length > 0;

describe("a provider's refresh token, where the settings have a revocation_url", () => {
  test('is revoked when the person is deleted, and is encrypted until then', async () => {
    const { account, token, revoked } = await newLogin();
    const id = (await account.show()).body.identities[0].id;
    expect([await isStored(`kept_token_of_${id}`), await isStored(token)]).toEqual([true, false]);
    expect((await account.remove()).status).toBe(204);
    expect(revoked()).toEqual([revocation(token)]);
    expect((await account.remove()).status).toBe(401);
    expect(revoked()).toHaveLength(1);
  });

  test('is revoked when the operator deletes the person, who is told whether it worked', async () => {
    const { person, token, revoked } = await newLogin();
    const remove = (who: object) => service.operate('login-users', 'delete', { ...who });
    const deletion = await remove(person);
    expect(deletion).toMatchObject({ deleted: true, tokens_revoked: 1 });
    expect(deletion).not.toHaveProperty('tokens_not_revoked');
    expect(revoked()).toEqual([revocation(token)]);
    const other = await newLogin();
    other.answers(500);
    expect(await remove(other.person)).toMatchObject({ deleted: true, tokens_not_revoked: 1 });
  });

  test('of a linked identity is revoked too', async () => {
    const { code, token, revoked, app } = await newLogin();
    // The first person gives the identity away.
    const first = (await service.token({ grant_type: 'provider_authorization_code', ...code }, app))
      .body;
    await accountOf(service, first.access_token).remove();
    expect(revoked()).toHaveLength(1);
    const account = await accountAtProviderF(app);
    expect((await account.link(code)).status).toBe(201);
    await account.remove();
    expect(revoked().slice(1)).toEqual([revocation(token)]);
  });

  test('of a code that comes without an id token is revoked too', async () => {
    const scene = standIn.openScene();
    const token = unique('provider-refresh-token');
    scene.answer('token', { body: { access_token: 'an-access-token', refresh_token: token } });
    const app = await createLoginApp(service, unique('app'));
    const { id_token: _, ...authorization_code } = exchangeOf(scene);
    const user_info = { url: `${scene.url}/user_info` };
    await service.setProvider(app, 'provider_b', { user_info, authorization_code });
    const code = { provider: 'provider_b', authorization_code: 'a-code' };
    const login = await service.token({ grant_type: 'provider_authorization_code', ...code }, app);
    const account = accountOf(service, login.body.access_token);
    expect(scene.forms('revoke')).toEqual([]);
    expect((await account.remove()).status).toBe(204);
    expect(scene.forms('revoke')).toEqual([revocation(token)]);
  });

  const wrong = [500, 503, 400, 401, 403, 302];
  test.each(wrong)(
    'the deletion goes on at a %i of the provider; operators try again',
    async (status) => {
      const { account, logIn, person, token, revoked, answers } = await newLogin();
      answers(status);
      expect((await account.remove()).status).toBe(204);
      expect((await account.remove()).status).toBe(401);
      expect((await accountOf(service, await logIn()).show()).body.id).not.toBe(
        person['login-user'],
      );
      expect(await retryFor(person)).toMatchObject({ revoked: 0, not_revoked: 1 });
      answers(200);
      expect(await retryFor(person)).toMatchObject({ revoked: 1, not_revoked: 0 });
      expect(await retryFor(person)).toMatchObject({ revoked: 0, not_revoked: 0 });
      expect(revoked()).toEqual(Array(3).fill(revocation(token)));
      expect(running.output()).toContain('provider_token_not_revoked');
    },
  );

  test('is revoked when the person unlinks the identity, and not when they unlink another one', async () => {
    const { account, app, token, revoked } = await newLogin();
    const credential = await credentialAtProviderF(app);
    const other = (await account.link(credential)).body.id;
    expect((await account.unlink(other)).status).toBe(204);
    expect(revoked()).toEqual([]);
    await account.link(credential);
    const [id = ''] = identityIdsOf(await account.show());
    expect((await account.unlink(id)).status).toBe(204);
    expect(revoked()).toEqual([revocation(token)]);
    expect((await account.remove()).status).toBe(204);
    expect(revoked()).toHaveLength(1);
  });

  test("of a link is kept where the identity is theirs already: Apple's usual flow", async () => {
    const { app, code, scene, revoked } = await newLogin();
    const settings = { issuers: [{ issuer: scene.url, audiences: [ourApp] }] };
    await service.setProvider(app, 'provider_f', settings);
    const id_token = await scene.idToken({ sub: unique('carol') });
    const account = accountOf(service, (await service.byIdToken(id_token, app)).body.access_token);
    scene.answer('token', { body: { id_token, refresh_token: 'of-a-link' } });
    expect((await account.link(code)).status).toBe(200);
    expect(revoked()).toEqual([]);
    expect((await account.remove()).status).toBe(204);
    expect(revoked()).toEqual([revocation('of-a-link')]);
  });

  test('of an identity that belongs to somebody else is revoked at once, and theirs stays', async () => {
    const { app, code, issue, token, revoked, account: owner } = await newLogin();
    const account = await accountAtProviderF(app);
    issue('refused');
    expect((await account.link(code)).status).toBe(409);
    expect(revoked()).toEqual([revocation('refused')]);
    await owner.remove();
    expect(revoked()).toEqual([revocation('refused'), revocation(token)]);
  });

  test('of a blocked person who logs in is revoked at once', async () => {
    const { logIn, issue, person, revoked } = await newLogin();
    await service.operate('login-users', 'block', person);
    issue('refused');
    expect(await logIn()).toBeUndefined();
    expect(revoked()).toEqual([revocation('refused')]);
  });

  test('of a link that is taken back is revoked at once', async () => {
    const { app, account: owner, code, issue, token, revoked } = await newLogin();
    await owner.remove();
    const account = await accountAtProviderF(app);
    const { id: login_user } = (await account.show()).body;
    for (let number = 0; number < 20; number += 1) {
      const one = { 'login-user': login_user, provider: 'provider_f', subject: unique('more') };
      await service.operate('identities', 'add', one);
    }
    issue('refused');
    expect((await account.link(code)).status).toBe(409);
    expect(revoked()).toEqual([revocation(token), revocation('refused')]);
    await account.remove();
    expect(revoked()).toHaveLength(2);
  });

  describe('of a login or a link that fails after the exchange is revoked at once', () => {
    const login = { grant_type: 'provider_authorization_code' };
    const isNote = ({ body }: StoreCall): boolean => JSON.stringify(body).includes('USED_ONCE');
    const isRecord = ({ operation }: StoreCall): boolean => operation === 'UpdateItem';
    const isRead = ({ operation }: StoreCall): boolean => operation === 'GetItem';

    /**
     * The form of a login with a nonce of the service, for which these tokens come, one after the
     * other.
     */
    async function newNonceLogin(...tokens: string[]) {
      const made = await newLogin();
      const { nonce } = (await service.form('/v2/marketing/oauth/nonce', {}, asClient(made.app)))
        .body;
      made.scene.answer('token', async () => ({
        body: {
          id_token: await made.scene.idToken({ sub: made.subject, nonce }),
          refresh_token: tokens.shift(),
        },
      }));
      return { ...made, form: { ...login, ...made.code, nonce } };
    }

    test('since its nonce was used by another client', async () => {
      const { app, form, revoked } = await newNonceLogin('stored', 'refused');
      expect((await service.token(form, app)).status).toBe(200);
      const server = { ...app, ...(await createClient(service, app.login_app_id)) };
      expect((await service.token(form, server)).body.error).toBe('invalid_grant');
      expect(revoked()).toEqual([revocation('refused')]);
    });

    test('since the store fails at the note of its nonce', async () => {
      const { app, form, revoked } = await newNonceLogin('refused');
      const { result } = await failing(
        proxy,
        [0, 'fails before'],
        () => service.token(form, app),
        isNote,
      );
      expect(result.status).toBe(500);
      expect(revoked()).toEqual([revocation('refused')]);
    });

    test.each<[string, (scene: Scene) => void]>([
      ['its id token is of another app', (scene) => answerWith(scene, { aud: 'another-app' })],
      ['its id token has expired', (scene) => answerWith(scene, { exp: 1 })],
    ])('since %s', async (_, answer) => {
      const { app, code, scene, revoked } = await newLogin();
      answer(scene);
      expect((await service.token({ ...login, ...code }, app)).body.error).toBe('invalid_grant');
      expect(revoked()).toEqual([revocation('refused')]);
    });
    const answerWith = (scene: Scene, claims: object) =>
      scene.answer('token', async () => ({
        body: { id_token: await scene.idToken(claims), refresh_token: 'refused' },
      }));

    test.each([401, 500])('since the user info answers %i', async (status) => {
      const { app, code, scene, revoked } = await newLogin();
      const { id_token: _, ...authorization_code } = exchangeOf(scene);
      const user_info = { url: `${scene.url}/user_info` };
      await service.setProvider(app, 'provider_b', { user_info, authorization_code });
      running.advance(31);
      scene.answer('token', {
        body: { access_token: 'an-access-token', refresh_token: 'refused' },
      });
      scene.answer('user_info', { status });
      expect((await service.token({ ...login, ...code }, app)).status).toBe(
        status === 401 ? 400 : 500,
      );
      running.resetClock();
      expect(revoked()).toEqual([revocation('refused')]);
    });

    test.each<[string, (call: StoreCall) => boolean]>([
      ['before the login is recorded', isRead],
      ['at the record of the login', isRecord],
    ])('since the store fails %s', async (_, place) => {
      const { app, code, issue, revoked } = await newLogin();
      issue('refused');
      const send = () => service.token({ ...login, ...code }, app);
      const { result, happened } = await failing(proxy, [0, 'fails before'], send, place);
      expect({ status: result.status, happened }).toEqual({ status: 500, happened: true });
      expect(revoked()).toEqual([revocation('refused')]);
    });

    test.each<[string, (call: StoreCall) => boolean]>([
      ['before the link', isRead],
      ['at the link', isWrite],
    ])('since the store fails %s', async (_, place) => {
      const { app, account: owner, code, issue, token, revoked } = await newLogin();
      await owner.remove();
      const account = await accountAtProviderF(app);
      issue('refused');
      const { result } = await failing(proxy, [0, 'fails before'], () => account.link(code), place);
      expect(result.status).toBe(500);
      expect(revoked()).toEqual([revocation(token), revocation('refused')]);
    });

    test('and not when it is stored all the same: then it is revoked with the person', async () => {
      const { app, code, account, issue, token, revoked } = await newLogin();
      const send = () => service.token({ ...login, ...code }, app);
      const isSession = ({ operation }: StoreCall) => operation === 'PutItem';
      const faults: [string, Fault, (call: StoreCall) => boolean][] = [
        ['stored-1', 'fails after', isRecord],
        ['stored-2', 'fails before', isSession],
      ];
      for (const [refreshToken, fault, place] of faults) {
        issue(refreshToken);
        const { result, happened } = await failing(proxy, [0, fault], send, place);
        expect({ status: result.status, happened }).toEqual({ status: 500, happened: true });
      }
      expect(revoked()).toEqual([]);
      await account.remove();
      const tokens = revoked().map((form) => form.token);
      expect(tokens.toSorted()).toEqual([token, 'stored-1', 'stored-2'].toSorted());
    });

    test('since the Login App lets nobody new in', async () => {
      const { app, account, code, issue, token, revoked } = await newLogin();
      await account.remove();
      const closed = { 'login-app': app.login_app_id, 'sign-ups': 'closed' };
      await service.operate('login-apps', 'update', closed);
      running.advance(31);
      issue('refused');
      expect((await service.token({ ...login, ...code }, app)).body.error).toBe('invalid_grant');
      running.resetClock();
      expect(revoked()).toEqual([revocation(token), revocation('refused')]);
    });
  });

  test('that another one replaces is revoked with the identity, and not while the person goes on with it', async () => {
    const { logIn, account, app, code, person, issue, token, revoked } = await newLogin();
    issue('second');
    await logIn();
    await logIn();
    issue('third');
    await account.link(code);
    await account.link(await credentialAtProviderF(app));
    const [first = ''] = identityIdsOf(await account.show());
    expect(await retryFor(person)).toMatchObject({ revoked: 0 });
    expect(revoked()).toEqual([]);
    expect((await account.unlink(first)).status).toBe(204);
    const tokens = revoked().map((form) => form.token);
    expect(tokens.toSorted()).toEqual([token, 'second', 'third'].toSorted());
  });

  test('is one of 40 at most', async () => {
    const { logIn, account, issue, token, revoked } = await newLogin();
    for (let number = 1; number <= 45; number += 1) {
      issue(`token-${number}`);
      await logIn();
    }
    await account.remove();
    const tokens = revoked().map((form) => form.token);
    expect(tokens).toHaveLength(40);
    expect(tokens).toContain('token-45');
    expect(tokens).toContain(token);
  });

  test('of more than 4 KiB is not kept, but revoked at once', async () => {
    const { logIn, issue, account, token, revoked } = await newLogin();
    const long = 'x'.repeat(4097);
    issue(long);
    expect(await logIn()).toEqual(expect.any(String));
    expect(revoked()).toEqual([revocation(long)]);
    await account.remove();
    expect(revoked().slice(1)).toEqual([revocation(token)]);
  });

  test.each<[string, (login: Awaited<ReturnType<typeof newLogin>>) => Promise<unknown>]>([
    ['the operator tries again', ({ person }) => retryFor(person)],
    ['the person is deleted', ({ account }) => account.remove()],
  ])('of an unlinked identity is kept while the provider fails, until %s', async (_, tryAgain) => {
    const login = await newLogin();
    const { account, app, person, token, revoked, answers } = login;
    await account.link(await credentialAtProviderF(app));
    const [id = ''] = identityIdsOf(await account.show());
    answers(500);
    expect((await account.unlink(id)).status).toBe(204);
    expect(await isStored(`kept_token_of_${id}`)).toBe(true);
    expect(await retryFor(person)).toMatchObject({ revoked: 0, not_revoked: 1 });
    answers(200);
    await tryAgain(login);
    expect(revoked()).toEqual(Array(3).fill(revocation(token)));
    expect(await isStored(`kept_token_of_${id}`)).toBe(false);
  });

  test('retry-revocations of nobody: an error', async () => {
    const nobody = { 'login-user': `lu_${'A'.repeat(43)}` };
    await expect(retryFor(nobody)).rejects.toThrow('There is no such Login User.');
  });
});

describe('a Login App, while a token of its people is to be revoked', () => {
  const deleteApp = ({ login_app_id }: { login_app_id: string }, flags = {}) =>
    service.operate('login-apps', 'delete', { 'login-app': login_app_id, ...flags });
  const everything = { 'with-everything': true };

  test('stays with its provider settings, until the provider has revoked the token', async () => {
    const { app, token, revoked, answers } = await newLogin();
    const { login_app_id } = app;
    answers(500);
    const left = { login_app_id, deleted: false, tokens_not_revoked: 1 };
    expect(await deleteApp(app, everything)).toEqual({
      ...left,
      removed: { login_users: 1, devices: 0 },
    });
    running.advance(60);
    const none = { login_users: 0, devices: 0 };
    expect(await deleteApp(app, everything)).toEqual({ ...left, removed: none });
    answers(200);
    expect(await deleteApp(app, everything)).toEqual({
      login_app_id,
      deleted: true,
      removed: none,
    });
    expect(revoked()).toEqual(Array(3).fill(revocation(token)));
    expect(await isStored(login_app_id)).toBe(false);
  });

  test('is not deleted without everything, until the operator has had the token revoked', async () => {
    const { app, account, person, answers } = await newLogin();
    answers(500);
    await account.remove();
    await service.operate('login-apps', 'disable', { 'login-app': app.login_app_id });
    running.advance(60);
    await expect(deleteApp(app)).rejects.toThrow(
      'tokens of deleted Login Users are still to be revoked',
    );
    answers(200);
    await retryFor(person);
    expect(await deleteApp(app)).toMatchObject({ deleted: true });
  });

  test('can be deleted once the operator has removed the provider', async () => {
    const { app, account, answers } = await newLogin();
    answers(500);
    await account.remove();
    await service.operate('providers', 'remove', {
      'login-app': app.login_app_id,
      provider: 'provider_b',
    });
    await service.operate('login-apps', 'disable', { 'login-app': app.login_app_id });
    running.advance(60);
    expect(await deleteApp(app, everything)).toMatchObject({ deleted: true });
    expect(await isStored(app.login_app_id)).toBe(false);
  });
});

test('without a revocation_url no refresh token is kept, and nothing is revoked', async () => {
  const { account, revoked } = await newLogin({ keeps: false });
  const id = (await account.show()).body.identities[0].id;
  expect(await isStored(`kept_token_of_${id}`)).toBe(false);
  expect((await account.remove()).status).toBe(204);
  expect(revoked()).toEqual([]);
});

describe('a function that dies at any write of a deletion', () => {
  test.each(everyCrash(4))(
    '%s, at write %i: the operator finishes it, token and all',
    async (fault, place) => {
      const { account, person, token, revoked } = await newLogin();
      expect(await failing(proxy, [place, fault], account.remove, isWrite)).toMatchObject({
        happened: true,
      });
      // Nothing is left to do when only the answer to the last write was lost.
      await service.operate('login-users', 'delete', person).catch(() => undefined);
      expect(revoked()).not.toEqual([]);
      expect(revoked()).toEqual(Array(revoked().length).fill(revocation(token)));
      expect(await retryFor(person)).toMatchObject({ revoked: 0, not_revoked: 0 });
      expect((await account.show()).status).toBe(401);
    },
  );
});
