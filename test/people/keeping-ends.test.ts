import { afterEach, describe, expect, test } from '@jest/globals';
import { invokeFunction } from '../../infra/operator/call/invoke-function.ts';
import { keepingEndKey } from '../../lib/storage/keys.ts';
import { expectError } from '../support/expectations.ts';
import { itemAt, itemsAbout } from '../support/items-about.ts';
import { logLines } from '../support/log-lines.ts';
import { sendMerge } from '../support/merges.ts';
import { identityIdsOf } from '../support/people.ts';
import { newGrants, newKeeper } from '../support/provider-access.ts';
import { ourApp, startProviderStandIn } from '../support/provider-stand-in.ts';
import { operatorOf, unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import { isWrite, type StoreCall } from '../support/store-proxy.ts';
import { byId } from '../support/token-exchange.ts';

const own = await sharedServiceWithStore();
const { service, running, proxy } = own;
const { operate } = service;
const standIn = await startProviderStandIn();
const otherStandIn = await startProviderStandIn();
afterEach(running.resetClock);

/** The schedule, which runs every minute. */
const sweep = () =>
  invokeFunction({ ...operatorOf(running.directory), name: 'finish-deletions' }, {});
const hour = 3600;

type Keeper = Awaited<ReturnType<typeof newRevocable>>;
type Login = Awaited<ReturnType<Keeper['logIn']>>;

/** A Login App whose provider_b keeps tokens that can be revoked, and ways to end that. */
async function newRevocable({ grants = newGrants() } = {}) {
  const settings = { client_authentication: 'form' };
  const made = await newKeeper(service, standIn, { settings, rights: byId, grants });
  const { scene, set, app } = made;
  const revocation_url = `${scene.url}/revoke`;
  const keep = () => set({ revocation_url });
  await keep();
  const flags = { 'login-app': app.login_app_id, provider: 'provider_b' };
  return {
    ...made,
    keep,
    /** Has tokens revoked with another secret, and keeps none. */
    stop: () => set({ revocation_url, keep_tokens: false, client_secret: 'another-secret' }),
    remove: () => operate('providers', 'remove', flags),
    revoked: () => scene.forms('revoke').map(({ token }) => token),
    key: keepingEndKey(app.login_app_id, 'provider_b', new URL(scene.url).host),
  };
}

/** Whether a person sees that their first identity gives servers access. */
const hasAccess = async ({ account }: Login): Promise<boolean> =>
  (await account.show()).body.identities[0].provider_access !== undefined;

/** The attributes with tokens that are stored of somebody. */
async function tokensOf({ loginUserId }: Login): Promise<string[]> {
  const items = await itemsAbout(own, loginUserId);
  return items.flatMap((item) => Object.keys(item)).filter((name) => name.includes('kept_token'));
}

/** Lets every sweep that is due after a change be over. */
async function sweepAll(): Promise<void> {
  await sweep();
  running.advance(61);
  await sweep();
  await sweep();
}

describe('keep_tokens that is taken out of the settings', () => {
  test.each(['stop', 'remove'] as const)(
    "(%s): everybody's token is revoked by the earlier settings, and forgotten",
    async (end) => {
      const made = await newRevocable();
      const people = await Promise.all([made.logIn(), made.logIn(), made.logIn()]);
      await made[end]();
      for (const { loginUserId } of people)
        expectError(await made.exchangeById(loginUserId), { status: 400, error: 'invalid_target' });
      expect(made.revoked()).toEqual([]);
      running.advance(31);
      await sweep();
      expect(await Promise.all(people.map(hasAccess))).toEqual([false, false, false]);
      expect(made.scene.forms('revoke')).toEqual(
        Array(3).fill(expect.objectContaining({ client_secret: 'our-secret' })),
      );
      expect(new Set(made.revoked()).size).toBe(3);
      expect(await Promise.all(people.map(tokensOf))).toEqual([[], [], []]);
      expect(logLines(running)).toContainEqual(
        expect.objectContaining({
          event: 'provider_access_ended',
          login_user_id: people[0]?.loginUserId,
        }),
      );
      running.advance(30);
      await sweep();
      await sweep();
      expect(await itemAt(own, made.key)).toBeUndefined();
      expect(made.revoked()).toHaveLength(3);
      expect(logLines(running)).toContainEqual(
        expect.objectContaining({
          event: 'provider_tokens_forgotten',
          login_app_id: made.app.login_app_id,
          provider: 'provider_b',
        }),
      );
    },
  );

  test('leaves its secrets encrypted', async () => {
    const made = await newRevocable();
    await made.stop();
    const item = JSON.stringify(await itemAt(own, made.key));
    expect(item).toContain(ourApp);
    expect(item).not.toContain('our-secret');
  });

  test('has tokens forgotten that the provider cannot revoke', async () => {
    const made = await newKeeper(service, standIn);
    const person = await made.logIn();
    await made.set({ keep_tokens: false });
    await sweepAll();
    expect(await hasAccess(person)).toBe(false);
    expect(await tokensOf(person)).toEqual([]);
  });

  test('of one issuer leaves the tokens of another one', async () => {
    const app = await newRevocable();
    const scenes = [standIn.openScene(), standIn.openScene()] as const;
    const issuerOf = ({ url }: (typeof scenes)[number], keep_tokens = true) => ({
      issuer: url,
      audiences: [ourApp],
      code_exchange: {
        token_url: `${url}/token`,
        client_id: ourApp,
        client_secret: 'our-secret',
        revocation_url: `${url}/revoke`,
        keep_tokens,
      },
    });
    const [first, second] = scenes;
    const set = (...issuers: object[]) => service.setProvider(app.app, 'provider_f', { issuers });
    await set(issuerOf(first), issuerOf(second));
    const grants = newGrants();
    for (const scene of scenes) {
      const sub = unique('alice');
      scene.answer('token', async () => ({
        body: { ...grants.begin(), id_token: await scene.idToken({ sub }) },
      }));
      const code = { authorization_code: 'a-code' };
      const login = await service.byIdToken(await scene.idToken({ sub }), app.app, code);
      expect(login.status).toBe(200);
    }
    const person = await app.logIn();
    await set(issuerOf(first, false), issuerOf(second));
    await sweepAll();
    const revocations = () => scenes.map((scene) => scene.forms('revoke').length);
    expect(revocations()).toEqual([1, 0]);
    const flags = { 'login-app': app.app.login_app_id, provider: 'provider_f' };
    await operate('providers', 'remove', { ...flags, issuer: second.url });
    await sweepAll();
    expect(revocations()).toEqual([1, 1]);
    expect(await hasAccess(person)).toBe(true);
  });

  test('so does the token endpoint of another provider: the earlier one revokes, and its own stay', async () => {
    const made = await newRevocable();
    const { set, scene, logIn, grants } = made;
    const people = [await logIn(), await logIn()];
    const other = otherStandIn.openScene();
    other.answer('token', async ({ code }) => ({
      body: { ...grants.begin(), id_token: await other.idToken({ sub: code }) },
    }));
    const revocation_url = `${other.url}/revoke`;
    await set({ token_url: `${other.url}/token`, id_token: { issuer: other.url }, revocation_url });
    running.advance(31);
    const newcomer = await logIn();
    const ofEarlier = scene.forms('token').length;
    await sweepAll();
    expect(await Promise.all(people.map(hasAccess))).toEqual([false, false]);
    expect(made.revoked()).toHaveLength(ofEarlier);
    expect(other.calls('revoke')).toBe(0);
    expect((await made.exchangeById(newcomer.loginUserId)).status).toBe(200);
    expect(await itemAt(own, made.key)).toBeUndefined();
  });

  test('has the token of a login forgotten that was under way', async () => {
    const made = await newRevocable();
    // Its function has the settings for 30 s.
    await made.logIn();
    await operate('providers', 'tokens revoke', { 'login-app': made.app.login_app_id });
    await made.stop();
    await sweep();
    running.advance(5);
    const late = await made.logIn();
    expect(await hasAccess(late)).toBe(true);
    running.advance(31);
    await sweep();
    expect(await hasAccess(late)).toBe(true);
    running.advance(30);
    await sweep();
    expect(await hasAccess(late)).toBe(false);
    expect(made.revoked()).toHaveLength(2);
  });

  test('has a token forgotten that is refreshed at that moment, and the next one revoked', async () => {
    const grants = newGrants({ rotates: true });
    const made = await newRevocable({ grants });
    const person = await made.logIn();
    running.advance(3601);
    grants.beforeRefresh = async () => {
      grants.beforeRefresh = async () => {};
      await made.stop();
      await sweep();
    };
    expect((await made.exchangeById(person.loginUserId)).status).toBe(400);
    expect(await tokensOf(person)).toEqual([]);
    expect(new Set(made.revoked()).size).toBe(2);
  });

  test('has tokens forgotten that a later login has replaced, and leaves its own', async () => {
    const made = await newRevocable();
    const { subject, loginUserId } = await made.logIn();
    await made.logIn(subject);
    const kept = made.scene.forms('token').length;
    await made.stop();
    running.advance(31);
    const person = await made.logIn(subject);
    expect(person.answer.status).toBe(200);
    expect(await tokensOf(person)).toHaveLength(kept + 1);
    await sweepAll();
    expect(await tokensOf(person)).toEqual([expect.stringMatching(/^kept_token_of_i_[\w-]+$/)]);
    expect(made.revoked()).toHaveLength(kept);
    await operate('login-users', 'delete', { 'login-user': loginUserId });
    expect(made.revoked()).toHaveLength(kept + 1);
  });

  test('that comes back keeps what is not forgotten yet', async () => {
    const made = await newRevocable();
    const person = await made.logIn();
    await made.stop();
    await made.keep();
    expect(await itemAt(own, made.key)).toBeUndefined();
    await sweepAll();
    expect(made.revoked()).toEqual([]);
    expect((await made.exchangeById(person.loginUserId)).status).toBe(200);
  });

  test('can be taken out, put back and taken out again', async () => {
    const made = await newRevocable();
    const person = await made.logIn();
    await made.stop();
    await made.keep();
    await made.remove();
    await sweepAll();
    expect(await hasAccess(person)).toBe(false);
    expect(made.revoked()).toHaveLength(1);
  });

  test('has the tokens forgotten of a Login App that is deleted', async () => {
    const made = await newRevocable();
    await made.logIn();
    await made.remove();
    const flags = { 'login-app': made.app.login_app_id, 'with-everything': true };
    await operate('login-apps', 'delete', flags);
    running.advance(61);
    expect(await operate('login-apps', 'delete', flags)).toMatchObject({ deleted: true });
    expect(made.revoked()).toHaveLength(1);
    await sweep();
    await sweep();
    expect(await itemsAbout(own, made.app.login_app_id)).toEqual([]);
  });
});

describe('a provider that is down', () => {
  test('is asked every hour; the access ends at once', async () => {
    const made = await newRevocable();
    const person = await made.logIn();
    made.scene.answer('revoke', { status: 503 });
    await made.remove();
    await sweep();
    expect(await hasAccess(person)).toBe(false);
    expect(await tokensOf(person)).toHaveLength(1);
    running.advance(hour - 60);
    await sweep();
    expect(made.revoked()).toHaveLength(1);
    running.advance(120);
    await sweep();
    expect(made.revoked()).toHaveLength(2);
    made.scene.answer('revoke', { status: 200 });
    running.advance(hour + 60);
    await sweep();
    await sweep();
    expect(made.revoked()).toHaveLength(3);
    expect(await tokensOf(person)).toEqual([]);
    expect(await itemAt(own, made.key)).toBeUndefined();
  });

  test('for a day: the tokens are forgotten, and the log says so', async () => {
    const made = await newRevocable();
    const person = await made.logIn();
    made.scene.answer('revoke', { status: 503 });
    await made.remove();
    await sweep();
    running.advance(24 * hour);
    await sweep();
    await sweep();
    expect(await tokensOf(person)).toEqual([]);
    expect(await itemAt(own, made.key)).toBeUndefined();
    const { loginUserId: login_user_id } = person;
    const line = { event: 'provider_token_given_up', login_user_id };
    expect(logLines(running)).toContainEqual(expect.objectContaining(line));
  });

  test('while a person is deleted: their token is revoked later, and nothing leads to them', async () => {
    const made = await newRevocable();
    const person = await made.logIn();
    made.scene.answer('revoke', { status: 503 });
    await made.remove();
    running.advance(31);
    expect((await person.account.remove()).status).toBe(204);
    expect(await tokensOf(person)).toHaveLength(1);
    made.scene.answer('revoke', { status: 200 });
    await sweep();
    expect(await tokensOf(person)).toEqual([]);
    const [item] = await itemsAbout(own, person.loginUserId);
    expect(item).not.toHaveProperty('list');
    expect(made.scene.forms('revoke').at(-1)).toMatchObject({ client_secret: 'our-secret' });
  });
});

/** Where a rival can change what a sweep has found, or is about to write. */
const isTurn = (call: StoreCall): boolean => isWrite(call) || call.operation === 'BatchGetItem';

/** Lets a rival act just before one of these calls of a sweep; whether the sweep makes so many. */
async function overtaken(place: number, rival: () => Promise<unknown>): Promise<boolean> {
  let seen = 0;
  let acting: Promise<unknown> | undefined;
  const hook = async (call: StoreCall) => {
    if (acting || !isTurn(call) || seen++ !== place) return undefined;
    acting = rival();
    await acting;
    return undefined;
  };
  await proxy.during(hook, sweep);
  return acting !== undefined;
}

/** Two identities of one person, who sees whether each gives access. */
async function newPair(made: Keeper) {
  const person = await made.logIn();
  const other = unique('other');
  expect((await person.account.link(made.code(other))).status).toBe(201);
  return { ...person, other };
}

describe('before each read of people and each write of a sweep', () => {
  test('an identity that is unlinked: its token is revoked, too', async () => {
    for (let place = 0, happened = true; happened; place += 1) {
      const made = await newRevocable();
      const person = await newPair(made);
      const [first = ''] = identityIdsOf(await person.account.show());
      await made.stop();
      happened = await overtaken(place, () => person.account.unlink(first));
      await sweepAll();
      expect(await tokensOf(person)).toEqual([]);
      expect(new Set(made.revoked()).size).toBe(2);
      running.resetClock();
    }
  });

  test('a person who is deleted: nothing is left of their token', async () => {
    for (let place = 0, happened = true; happened; place += 1) {
      const made = await newRevocable();
      const person = await made.logIn();
      await made.remove();
      happened = await overtaken(place, () => person.account.remove());
      await sweepAll();
      running.advance(hour + 60);
      await sweepAll();
      expect(await tokensOf(person)).toEqual([]);
      expect(new Set(made.revoked()).size).toBe(1);
      expect(await itemAt(own, made.key)).toBeUndefined();
      running.resetClock();
    }
  });

  test('a login by the new settings: its own token stays, and is not revoked', async () => {
    for (let place = 0, happened = true; happened; place += 1) {
      const made = await newRevocable();
      const person = await made.logIn();
      await made.stop();
      running.advance(31);
      happened = await overtaken(place, () => made.logIn(person.subject));
      if (!happened) await made.logIn(person.subject);
      await sweepAll();
      expect(await tokensOf(person)).toEqual([expect.stringMatching(/^kept_token_of_i_[\w-]+$/)]);
      expect(made.revoked()).toHaveLength(1);
      running.resetClock();
    }
  });

  test('keep_tokens that is put back, and a login then: its token is kept', async () => {
    for (let place = 0, happened = true; happened; place += 1) {
      const made = await newRevocable();
      const person = await made.logIn();
      await made.stop();
      const comeBack = async () => {
        await made.keep();
        running.advance(31);
        await made.logIn(person.subject);
      };
      happened = await overtaken(place, comeBack);
      if (!happened) await comeBack();
      await sweepAll();
      expect((await made.exchangeById(person.loginUserId)).status).toBe(200);
      running.resetClock();
    }
  });

  test('a merge: the tokens of both are revoked', async () => {
    for (let place = 0, happened = true; happened; place += 1) {
      const made = await newRevocable();
      const [alice, bob] = [await made.logIn(), await made.logIn()];
      await made.stop();
      const merge = () => sendMerge(service, alice, { keep: 'mine', ...made.code(bob.subject) });
      happened = await overtaken(place, merge);
      await sweepAll();
      expect([await tokensOf(alice), await tokensOf(bob)]).toEqual([[], []]);
      expect(new Set(made.revoked()).size).toBeGreaterThanOrEqual(2);
      expect(await hasAccess(alice)).toBe(false);
      running.resetClock();
    }
  });
});

test('two sweeps at once forget everything, and end', async () => {
  const made = await newRevocable();
  const people = await Promise.all(Array.from({ length: 10 }, () => made.logIn()));
  await made.stop();
  await Promise.all([sweep(), sweep(), sweep()]);
  running.advance(61);
  await Promise.all([sweep(), sweep(), sweep()]);
  await sweepAll();
  expect((await Promise.all(people.map(tokensOf))).flat()).toEqual([]);
  expect(new Set(made.revoked()).size).toBe(10);
  expect(await itemAt(own, made.key)).toBeUndefined();
});

describe('a sweep that dies at any of its writes', () => {
  test.each(['fails before', 'fails after'] as const)('%s: a later one finishes', async (fault) => {
    for (let place = 0; ; place += 1) {
      const made = await newRevocable();
      const people = await Promise.all([made.logIn(), made.logIn()]);
      await made.stop();
      let seen = 0;
      const dying = (call: StoreCall) => (isWrite(call) && seen++ === place ? fault : undefined);
      await proxy.during(dying, () => sweep().catch(() => undefined));
      if (seen <= place) break;
      await sweepAll();
      running.advance(hour + 60);
      await sweepAll();
      expect((await Promise.all(people.map(tokensOf))).flat()).toEqual([]);
      expect(new Set(made.revoked()).size).toBe(2);
      expect(await itemAt(own, made.key)).toBeUndefined();
      running.resetClock();
    }
  });
});

test("of hundreds of people, everybody's token is forgotten, page by page", async () => {
  const made = await newRevocable();
  for (let count = 0; count < 300; count += 50)
    await Promise.all(Array.from({ length: 50 }, () => made.logIn()));
  await made.remove();
  /** Pages of five, as if the lists were twenty times as long. */
  const smallPages = ({ operation, body }: StoreCall) => {
    if (operation === 'Query' && body.Limit === 100) body.Limit = 5;
    return undefined;
  };
  await proxy.during(smallPages, sweepAll);
  expect(new Set(made.revoked()).size).toBe(300);
  expect(made.revoked()).toHaveLength(300);
  expect(await itemAt(own, made.key)).toBeUndefined();
});
