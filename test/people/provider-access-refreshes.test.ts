import { describe, expect, test } from '@jest/globals';
import { expectError, timestamp } from '../support/expectations.ts';
import { newIssuerLogin } from '../support/issuer-login.ts';
import { itemsAbout } from '../support/items-about.ts';
import { logLines } from '../support/log-lines.ts';
import { createClient } from '../support/login-app.ts';
import { eventually, identityIdsOf } from '../support/people.ts';
import { loginNeeded, newGrants, newKeeper } from '../support/provider-access.ts';
import { ourApp, startProviderStandIn } from '../support/provider-stand-in.ts';
import { unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import { failing, isWrite } from '../support/store-proxy.ts';
import { byId, exchangeOfId } from '../support/token-exchange.ts';

const own = await sharedServiceWithStore();
const { service, running, proxy } = own;
const standIn = await startProviderStandIn();

const isStored = async (text: string): Promise<boolean> => (await itemsAbout(own, text)).length > 0;

describe("a provider's answer", () => {
  test.each<[string, object, number]>([
    ['without expires_in counts for five minutes', { lifetime: undefined }, 300],
    ['with expires_in as text', { more: { expires_in: '1800' } }, 1800],
    ['with expires_in that is no number', { more: { expires_in: 'soon' } }, 300],
    ['with a negative expires_in is refreshed at once', { more: { expires_in: -5 } }, 0],
  ])('%s', async (_, change, expires_in) => {
    const grants = Object.assign(newGrants(), change);
    const { logIn, exchangeFor } = await newKeeper(service, standIn, { grants });
    const { token } = await logIn();
    const answer = await exchangeFor(token);
    expect(Math.abs(answer.body.expires_in - expires_in)).toBeLessThan(5);
    running.advance(expires_in);
    const before = grants.refreshes;
    expect((await exchangeFor(token)).status).toBe(200);
    expect(grants.refreshes).toBe(before + 1);
    running.resetClock();
  });

  test.each<[string, unknown, string | undefined, string[] | undefined]>([
    ['fewer scopes at a refresh', 'email', 'email', ['email']],
    ['scopes in a list', ['a', 'b'], 'a b', ['a', 'b']],
    ['no scopes at a refresh: those of before', undefined, 'calendar.readonly email', undefined],
  ])('with %s', async (_, scope, told, shown) => {
    const { logIn, exchangeFor, grants } = await newKeeper(service, standIn);
    const { token, account } = await logIn();
    grants.scope = scope;
    running.advance(3550);
    expect((await exchangeFor(token)).body.scope).toBe(told);
    const [identity] = (await account.show()).body.identities;
    expect(identity.provider_access.scopes).toEqual(shown ?? ['calendar.readonly', 'email']);
    running.resetClock();
  });

  test.each<[string, unknown]>([
    ['no scopes', undefined],
    ['no text of scopes', ''],
    ['a number', 7],
    ['a quotation mark', 'a"b'],
    ['5 kB of scopes', 'x'.repeat(5000)],
  ])('with %s tells none', async (_, scope) => {
    const grants = Object.assign(newGrants(), { scope });
    const { logIn, exchangeFor } = await newKeeper(service, standIn, { grants });
    const { token, account } = await logIn();
    expect((await exchangeFor(token)).body).not.toHaveProperty('scope');
    const [identity] = (await account.show()).body.identities;
    expect(identity.provider_access).toEqual({ since: timestamp });
  });

  test('that is bound to a key, or has no refresh token, keeps nothing', async () => {
    const { logIn, exchangeFor, grants, scene } = await newKeeper(service, standIn);
    grants.more = { token_type: 'DPoP' };
    expectError(await exchangeFor((await logIn()).token), loginNeeded);
    scene.answer('token', async ({ code }) => ({
      body: { ...grants.issue(), id_token: await scene.idToken({ sub: code }) },
    }));
    expectError(await exchangeFor((await logIn()).token), loginNeeded);
  });

  test('with an access token of 5 kB is not stored: each exchange refreshes', async () => {
    const long = 'x'.repeat(5000);
    const grants = Object.assign(newGrants({ rotates: true }), { more: { access_token: long } });
    const { logIn, exchangeFor } = await newKeeper(service, standIn, { grants });
    const { token } = await logIn();
    for (const refreshes of [1, 2]) {
      expect((await exchangeFor(token)).body.access_token).toBe(long);
      expect(grants.refreshes).toBe(refreshes);
    }
  });
});

describe('of 20 exchanges at once', () => {
  test.each([true, false])('one refreshes, and all get a token (rotating: %s)', async (rotates) => {
    const grants = newGrants({ rotates });
    const { logIn, exchangeFor } = await newKeeper(service, standIn, { grants });
    const { token } = await logIn();
    running.advance(3550);
    const answers = await Promise.all(Array.from({ length: 20 }, () => exchangeFor(token)));
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(new Set(answers.map(({ body }) => body.access_token)).size).toBe(1);
    expect(grants.refreshes).toBe(1);
    running.resetClock();
  });

  test('those beside one whose provider fails get a 503 at once, and it is asked once', async () => {
    const { logIn, exchangeById, scene } = await newKeeper(service, standIn, { rights: byId });
    const { loginUserId } = await logIn();
    running.advance(3601);
    const turns = () =>
      proxy.calls().filter(({ body }) => JSON.stringify(body).includes('refresh_until_of_'));
    const isTaken = () =>
      turns().filter(({ operation }) => operation === 'UpdateItem').length === 5;
    proxy.forget();
    scene.misbehave('token', async (request, response) => {
      request.resume();
      await eventually(
        async () => isTaken(),
        (all) => all,
      );
      response.writeHead(503).end();
    });
    const requests = Array.from({ length: 5 }, () => exchangeById(loginUserId));
    const statuses = (await Promise.all(requests)).map(({ status }) => status);
    running.resetClock();
    expect(statuses).toEqual(Array(5).fill(503));
    // The alarm about our own 5xx subtracts as many as the log tells of.
    const lines = logLines(running).filter(
      ({ event, login_user_id }) =>
        event === 'provider_token_not_refreshed' && login_user_id === loginUserId,
    );
    expect(lines).toHaveLength(5);
    expect(scene.forms('token').filter((form) => form.grant_type === 'refresh_token')).toHaveLength(
      1,
    );
    // Those who wait see that it is over, and look no further: they would for five seconds.
    const givenBack = proxy.calls().findLastIndex((call) => turns().includes(call));
    const later = proxy.calls().slice(givenBack);
    const looks = later.filter(({ operation }) => operation === 'GetItem');
    expect(looks.length).toBeLessThanOrEqual(4 * 3);
  });
});

describe('a provider that', () => {
  test.each<[string, object | undefined, string]>([
    ['answers 503', { status: 503 }, '5'],
    ['takes no more requests', { status: 429 }, '60'],
    ['never answers', undefined, '5'],
  ])('%s: 503 with Retry-After, and nothing is lost', async (_, answer, seconds) => {
    const { logIn, exchangeById, scene, grants } = await newKeeper(service, standIn, {
      rights: byId,
    });
    const { loginUserId, account } = await logIn();
    running.advance(3601);
    if (answer) scene.answer('token', answer);
    else scene.misbehave('token', () => undefined);
    const refused = await exchangeById(loginUserId);
    expectError(refused, {
      status: 503,
      error: 'temporarily_unavailable',
      naming: 'There is no answer of provider_b now. Nothing is lost; send the request again.',
    });
    expect(refused.headers.get('retry-after')).toBe(seconds);
    expect(logLines(running)).toContainEqual(
      expect.objectContaining({ event: 'provider_token_not_refreshed' }),
    );
    scene.answer('token', async ({ refresh_token }) => grants.refresh(refresh_token));
    expect((await exchangeById(loginUserId)).status).toBe(200);
    running.resetClock();
    expect((await account.show()).body.identities[0]).toHaveProperty('provider_access');
  });

  test('ends a grant by an error code of its own, as GitHub does: the person has to log in again', async () => {
    const settings = { refused_errors: ['bad_refresh_token'] };
    const { logIn, exchangeFor, scene } = await newKeeper(service, standIn, { settings });
    const { token } = await logIn();
    scene.answer('token', { body: { error: 'bad_refresh_token' } });
    running.advance(3550);
    const refused = await exchangeFor(token);
    running.resetClock();
    expectError(refused, loginNeeded);
  });

  test('is down while some seconds are left gives the token that is still valid', async () => {
    const { logIn, exchangeFor, scene } = await newKeeper(service, standIn);
    const { token } = await logIn();
    const first = (await exchangeFor(token)).body.access_token;
    scene.answer('token', { status: 503 });
    running.advance(3570);
    const answer = await exchangeFor(token);
    running.resetClock();
    expect(answer.body.access_token).toBe(first);
    expect(answer.body.expires_in).toBeLessThan(60);
  });

  test('rejects our own credentials: 500, for an operator to look at', async () => {
    const { logIn, exchangeFor, scene } = await newKeeper(service, standIn);
    const { token } = await logIn();
    scene.answer('token', { status: 401, body: { error: 'invalid_client' } });
    running.advance(3550);
    expect((await exchangeFor(token)).status).toBe(500);
    running.resetClock();
  });

  test('has ended the grant: the person has to log in again, and then it works', async () => {
    const { logIn, exchangeFor, grants } = await newKeeper(service, standIn);
    const { token, account, subject } = await logIn();
    grants.end();
    running.advance(3550);
    expectError(await exchangeFor(token), loginNeeded);
    expect((await account.show()).body.identities[0]).not.toHaveProperty('provider_access');
    expect(logLines(running)).toContainEqual(
      expect.objectContaining({ event: 'provider_access_ended' }),
    );
    expectError(await exchangeFor(token), loginNeeded);
    expect(grants.refreshes).toBe(1);
    const later = await logIn(subject);
    expect((await exchangeFor(later.token)).status).toBe(200);
    running.resetClock();
  });

  test('loses its answer to a refresh costs one login at most', async () => {
    const grants = newGrants({ rotates: true });
    const { logIn, exchangeById, scene } = await newKeeper(service, standIn, {
      grants,
      rights: byId,
    });
    const { loginUserId, subject } = await logIn();
    running.advance(3601);
    scene.misbehave('token', async (request, response) => {
      request.resume();
      const refresh_token = scene.forms('token').at(-1)?.refresh_token;
      await grants.refresh(refresh_token);
      response.destroy();
    });
    expect((await exchangeById(loginUserId)).status).toBe(503);
    scene.answer('token', async ({ grant_type, code, refresh_token }) =>
      grant_type === 'refresh_token'
        ? grants.refresh(refresh_token)
        : { body: { ...grants.begin(), id_token: await scene.idToken({ sub: code }) } },
    );
    expectError(await exchangeById(loginUserId), loginNeeded);
    await logIn(subject);
    expect((await exchangeById(loginUserId)).status).toBe(200);
    running.resetClock();
  });
});

const revocable = (scene: { url: string }) => ({ revocation_url: `${scene.url}/revoke` });
const revoked = (scene: { forms: (below: string) => Record<string, string>[] }) =>
  scene.forms('revoke').map(({ token }) => token);

describe('of two functions whose clocks differ', () => {
  /** A person whose token a function has stored that is some seconds ahead of all others, or behind. */
  async function keptBy({ ahead = 0, behind = 0 }) {
    const made = await newKeeper(service, standIn, { rights: byId });
    running.advance(ahead);
    const { loginUserId } = await made.logIn();
    running.resetClock();
    const { grants, exchangeById } = made;
    /** The seconds that an exchange tells, some seconds later, and the refreshes by then. */
    const exchangeAfter = async (seconds: number) => {
      running.advance(seconds + behind);
      const { status, body } = await exchangeById(loginUserId);
      running.resetClock();
      expect(status).toBe(200);
      return { left: body.expires_in, refreshes: grants.refreshes };
    };
    return { ...made, loginUserId, exchangeAfter };
  }
  const around = (seconds: number) => expect.closeTo(seconds, -1);

  test('one that was five minutes ahead: nobody knows how long the token lasts, so it is refreshed', async () => {
    const { exchangeAfter } = await keptBy({ ahead: 300 });
    expect(await exchangeAfter(0)).toEqual({ left: around(3600), refreshes: 1 });
    expect(await exchangeAfter(0)).toEqual({ left: around(3600), refreshes: 1 });
  });

  test('one that was five minutes behind: it is refreshed as much earlier', async () => {
    const { exchangeAfter } = await keptBy({ behind: 300 });
    expect(await exchangeAfter(0)).toEqual({ left: around(3300), refreshes: 0 });
    expect(await exchangeAfter(3250)).toEqual({ left: around(3600), refreshes: 1 });
  });

  test('one that was less than a minute ahead: nobody gets the token after its end', async () => {
    const { exchangeAfter } = await keptBy({ ahead: 50 });
    expect(await exchangeAfter(3580)).toEqual({ left: around(70), refreshes: 0 });
    expect(await exchangeAfter(3600)).toEqual({ left: around(3600), refreshes: 1 });
  });

  test('one that takes over the refresh of another, minutes too early: nothing is lost', async () => {
    const grants = newGrants({ rotates: true });
    const { logIn, exchangeById } = await newKeeper(service, standIn, { grants, rights: byId });
    const { loginUserId, account } = await logIn();
    running.advance(3601);
    grants.beforeRefresh = async () => {
      grants.beforeRefresh = async () => {};
      running.advance(300);
      expect((await exchangeById(loginUserId)).status).toBe(200);
      running.advance(-300);
    };
    expect((await exchangeById(loginUserId)).status).toBe(503);
    expect((await exchangeById(loginUserId)).status).toBe(200);
    running.resetClock();
    expect((await account.show()).body.identities[0]).toHaveProperty('provider_access');
  });
});

describe('what is kept', () => {
  test.each([true, false])(
    'is forgotten when the person is deleted (revocable: %s)',
    async (isRevocable) => {
      const { logIn, exchangeById, scene, set } = await newKeeper(service, standIn, {
        rights: byId,
      });
      if (isRevocable) await set(revocable(scene));
      running.advance(31);
      const { loginUserId, account } = await logIn();
      running.resetClock();
      expect((await account.remove()).status).toBe(204);
      expect((await exchangeById(loginUserId)).status).toBe(400);
      expect(revoked(scene)).toHaveLength(isRevocable ? 1 : 0);
      const [item, ...others] = await itemsAbout(own, loginUserId);
      expect(others).toEqual([]);
      expect(Object.keys(item ?? {}).filter((name) => name.includes('token'))).toEqual([]);
    },
  );

  test('is revoked and forgotten when the identity is unlinked', async () => {
    const { logIn, code, exchangeFor, scene, set } = await newKeeper(service, standIn);
    await set(revocable(scene));
    running.advance(31);
    const { token, account } = await logIn();
    await account.link(code(unique('other')));
    const [first = '', second = ''] = identityIdsOf(await account.show());
    expect((await account.unlink(first)).status).toBe(204);
    expect(revoked(scene)).toHaveLength(1);
    expect((await exchangeFor(token)).status).toBe(200);
    expect((await exchangeFor(token, { identity_id: second })).status).toBe(200);
    running.resetClock();
    expect(await isStored(`kept_token_of_${first}`)).toBe(false);
  });

  test('is revoked and forgotten when the provider reports that the account was hijacked', async () => {
    const made = await newIssuerLogin(service, standIn);
    const { scene, app, subject, setOf, push } = made;
    const { loginUserId, account } = await made.logIn();
    const code_exchange = {
      token_url: `${scene.url}/token`,
      client_id: ourApp,
      client_secret: 'our-secret',
      keep_tokens: true,
      ...revocable(scene),
    };
    const notifications = { on_account_disabled: 'nothing' };
    const issuer = { issuer: scene.url, audiences: [ourApp], code_exchange, notifications };
    await service.setProvider(app, 'provider_f', { issuers: [issuer] });
    running.advance(31);
    const id_token = await scene.idToken({ sub: subject });
    const refresh_token = unique('provider-refresh');
    scene.answer('token', { body: { ...newGrants().issue(refresh_token), id_token } });
    const code = { authorization_code: 'a-code' };
    const server = await createClient(service, app.login_app_id, byId);
    const exchange = async () => {
      const { status } = await service.token(exchangeOfId(loginUserId, 'provider_f'), server);
      return status;
    };
    const logIn = () => service.byIdToken(id_token, app, code);
    expect((await logIn()).status).toBe(200);
    expect(await exchange()).toBe(200);
    const iat = running.now();
    const set = await setOf('risc/event-type/account-disabled', { iat }, { reason: 'hijacking' });
    expect((await push(set)).status).toBe(202);
    running.resetClock();
    expect(await exchange()).toBe(400);
    expect((await account.show()).body.identities[0]).not.toHaveProperty('provider_access');
    expect(revoked(scene)).toEqual([refresh_token]);
  });

  test('is revoked and forgotten by providers tokens revoke, of all people, and comes back with a login', async () => {
    const { app, logIn, exchangeFor, scene, set } = await newKeeper(service, standIn);
    await set(revocable(scene));
    running.advance(31);
    const people = [await logIn(), await logIn(), await logIn()];
    const flags = { 'login-app': app.login_app_id };
    const revoke = (more: object = {}) =>
      service.operate('providers', 'tokens revoke', { ...flags, ...more });
    expect(await revoke({ provider: 'provider_f' })).toMatchObject({
      deleted: true,
      removed: { provider_tokens: 0, not_revoked: 0 },
    });
    scene.answer('revoke', { status: 500 });
    expect(await revoke()).toMatchObject({ removed: { provider_tokens: 3, not_revoked: 3 } });
    scene.answer('revoke', { status: 200 });
    for (const { token } of people) expectError(await exchangeFor(token), loginNeeded);
    const [first] = people;
    const again = await logIn(first?.subject);
    expect((await exchangeFor(again.token)).status).toBe(200);
    expect(await revoke()).toMatchObject({ removed: { provider_tokens: 1, not_revoked: 0 } });
    // The token that could not be revoked is revoked with the person.
    const before = revoked(scene).length;
    await again.account.remove();
    expect(revoked(scene)).toHaveLength(before + 1);
    running.resetClock();
  });

  test('at a login beside a refresh: the newer one counts, and the other refresh token is revoked', async () => {
    const grants = newGrants({ rotates: true });
    const { logIn, exchangeFor, scene, set } = await newKeeper(service, standIn, { grants });
    await set(revocable(scene));
    running.advance(31);
    const { token, subject } = await logIn();
    running.advance(3550);
    grants.beforeRefresh = async () => {
      grants.beforeRefresh = async () => {};
      expect((await logIn(subject)).answer.status).toBe(200);
    };
    const answer = await exchangeFor(token);
    expect(answer.status).toBe(200);
    expect((await exchangeFor(token)).body.access_token).toBe(answer.body.access_token);
    expect(revoked(scene)).toHaveLength(1);
    running.resetClock();
  });

  test('at a login beside two refreshes, of which the second begins in the same second: the newer one counts', async () => {
    const grants = newGrants({ rotates: true, lifetime: 30 });
    const options = { grants, rights: byId };
    const { logIn, exchangeById, scene, set } = await newKeeper(service, standIn, options);
    await set(revocable(scene));
    running.advance(31);
    const { loginUserId, subject } = await logIn();
    const first = Promise.withResolvers<void>();
    let second: ReturnType<typeof exchangeById> | undefined;
    grants.beforeRefresh = async () => {
      grants.beforeRefresh = () => first.promise;
      await logIn(subject);
      second = exchangeById(loginUserId);
      await eventually(
        () => grants.refreshes,
        (count) => count === 2,
      );
    };
    await exchangeById(loginUserId);
    first.resolve();
    expect((await second)?.status).toBe(200);
    running.resetClock();

    const [, , ofEarlierGrant, ofLaterGrant] = grants.refreshTokens;
    expect(revoked(scene)).toEqual([ofEarlierGrant]);
    expect((await exchangeById(loginUserId)).status).toBe(200);
    expect(scene.forms('token').at(-1)).toMatchObject({ refresh_token: ofLaterGrant });
  });

  test('ends with a next refresh token of more than 4 KiB, which is revoked and not stored', async () => {
    const { logIn, exchangeFor, grants, scene, set } = await newKeeper(service, standIn);
    await set(revocable(scene));
    running.advance(31);
    const { token, account } = await logIn();
    const refresh_token = unique('provider-refresh').padEnd(5000, 'x');
    grants.more = { refresh_token };
    running.advance(3550);
    expectError(await exchangeFor(token), loginNeeded);
    running.resetClock();
    expect((await account.show()).body.identities[0]).not.toHaveProperty('provider_access');
    expect(revoked(scene)).toEqual([refresh_token]);
  });

  test('at an unlinking beside a refresh: nobody keeps the next refresh token', async () => {
    const grants = newGrants({ rotates: true });
    const { logIn, code, exchangeFor, scene, set } = await newKeeper(service, standIn, { grants });
    await set(revocable(scene));
    running.advance(31);
    const { token, account } = await logIn();
    await account.link(code(unique('other')));
    const [first = ''] = identityIdsOf(await account.show());
    running.advance(3550);
    const later = (await logIn(unique('fresh'))).account;
    expect((await later.show()).status).toBe(200);
    grants.beforeRefresh = async () => {
      grants.beforeRefresh = async () => {};
      running.resetClock();
      await service.operate('identities', 'remove', {
        'login-user': (await account.show()).body.id,
        identity: first,
      });
    };
    expectError(await exchangeFor(token, { identity_id: first }), loginNeeded);
    running.resetClock();
    expect(revoked(scene)).toHaveLength(2);
    expect(await isStored(`kept_token_of_${first}`)).toBe(false);
  });
});

test('a store that fails at any write of an exchange loses nothing that the person has', async () => {
  for (const fault of ['fails before', 'fails after'] as const) {
    let hasHappened = true;
    for (let place = 0; hasHappened; place += 1) {
      const { logIn, exchangeById } = await newKeeper(service, standIn, { rights: byId });
      const { loginUserId } = await logIn();
      running.advance(3601);
      const request = () => exchangeById(loginUserId);
      ({ happened: hasHappened } = await failing(proxy, [place, fault], request, isWrite));
      // Whoever had the turn to refresh may have died with it.
      running.advance(11);
      expect((await request()).status).toBe(200);
      running.resetClock();
    }
  }
});
