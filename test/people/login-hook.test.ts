import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import * as v from 'valibot';
import { reservedClaims } from '../../lib/people/login-hook.ts';
import { expectError } from '../support/expectations.ts';
import { logLines } from '../support/log-lines.ts';
import { createLoginApp, demoSettings } from '../support/login-app.ts';
import { ownService, scratchFolder } from '../support/own-service.ts';
import { accountOf, identityIdsOf, subOf } from '../support/people.ts';
import { codeExchangeAt, ourApp, startProviderStandIn } from '../support/provider-stand-in.ts';
import { type Answer, unique } from '../support/service.ts';

const standIn = await startProviderStandIn();
const folder = scratchFolder();
const hook = join(folder, 'hook.mjs');
const seen = join(folder, 'events');
// It does what the claim `hook` of the id token says or, at a refresh, the claim `next` that it
// gave before.
writeFileSync(
  hook,
  `import { appendFileSync } from 'node:fs';
  export const handler = async (event) => {
    appendFileSync(${JSON.stringify(seen)}, JSON.stringify(event) + ',');
    const told = event.claims.hook ?? event.previous_claims.next ?? {};
    if (told.fails) throw new Error('its own affair');
    if (told.hangs) await new Promise((resolve) => setTimeout(resolve, 60_000).unref());
    return 'answer' in told ? told.answer : {};
  };`,
);
const options = { LOGIN_HOOK: hook, LOGIN_HOOK_SECONDS: '3' };
const movableClock = true;
const { running, service } = await ownService(options, { movableClock });
const atLogin = await ownService({ ...options, LOGIN_HOOK_ON: 'login' }, { movableClock });
afterEach(() => {
  running.resetClock();
  atLogin.running.resetClock();
});

const settingsSchema = v.looseObject({ issuers: v.array(v.looseObject({})) });

/** A Login App of which the hook is told the claims `hook` and `groups`. */
async function loginApp(at = service) {
  const app = await createLoginApp(at, unique('app'), { providers: ['provider_f'] });
  const { issuers } = v.parse(settingsSchema, await demoSettings(at, 'provider_f'));
  const told = issuers.map((issuer) => ({ ...issuer, hook_claims: ['hook', 'groups'] }));
  await at.setProvider(app, 'provider_f', { issuers: told });
  return app;
}
const apps = { at: await loginApp(service), atLogin: await loginApp(atLogin.service) };
const appOf = (at = service) => (at === service ? apps.at : apps.atLogin);

/** What the hook is to do. */
type Told = { answer?: unknown; fails?: true; hangs?: true };

/** A login of which the hook answers this. */
async function logIn(told?: Told, { subject = unique('alice'), at = service, more = {} } = {}) {
  const claims = JSON.stringify({ ...(told && { hook: told }), ...more });
  return at.token(await at.loginForm('provider_f', { subject, claims }), appOf(at));
}
const refresh = (answer: Answer, at = service) => at.refresh(answer.body.refresh_token, appOf(at));

/** Everything that the hook was told. */
const told = (): Record<string, unknown>[] =>
  JSON.parse(`[${readFileSync(seen, 'utf8').slice(0, -1)}]`);
const toldAbout = (loginUserId: string | undefined) =>
  told().filter(({ login_user_id }) => login_user_id === loginUserId);

const refused = { status: 400, error: 'invalid_grant', naming: 'The login was refused.' };

describe('what the hook is told', () => {
  test('at a login, a link and a refresh: who, by which identity, and the claims that the settings list', async () => {
    const subject = unique('alice');
    const more = { groups: ['staff'], name: 'Alice', email_verified: true, secret: 'not listed' };
    const login = await logIn({ answer: { claims: { roles: ['admin'] } } }, { subject, more });
    const sub = subOf(login);
    const { sid } = decodeJwt(login.body.access_token);
    const account = accountOf(service, login.body.access_token);
    const other = unique('bob');
    expect((await account.linkAt('provider_f', other)).status).toBe(201);
    await refresh(login);
    await logIn(undefined, { subject });
    const { client_id, login_app_id } = appOf();
    const about = { version: 1, login_app_id, login_user_id: sub, client_id };
    const identity = { issuer: expect.stringMatching(/^http/), subject };
    const profile = { name: 'Alice', email_verified: true };
    const hook = { answer: { claims: { roles: ['admin'] } } };
    const nothing = { profile: {}, claims: {}, previous_claims: {} };
    const usual = { ...about, provider: 'provider_f', identity, first_login: false, ...nothing };
    expect(toldAbout(sub)).toEqual([
      { ...usual, event: 'login', first_login: true, profile, claims: { hook, groups: ['staff'] } },
      { ...usual, event: 'link', session_id: sid, identity: { ...identity, subject: other } },
      {
        ...usual,
        event: 'refresh',
        session_id: sid,
        profile,
        previous_claims: { roles: ['admin'] },
      },
      { ...usual, event: 'login' },
    ]);
  });

  test('of an OAuth provider: the namespace of its people', async () => {
    const subject = unique('carol');
    const sub = subOf(await service.logIn(subject, 'provider_a'));
    const identity = { namespace: expect.stringMatching(/./), subject };
    expect(toldAbout(sub)).toMatchObject([{ provider: 'provider_a', identity, claims: {} }]);
  });

  test('a credential that is rejected, and a client with a wrong secret, reach no hook', async () => {
    const form = await service.loginForm('provider_f', { expired: 'true' });
    const before = readFileSync(seen, 'utf8');
    expect((await service.token(form, appOf())).status).toBe(400);
    expect((await service.token(form, { ...appOf(), client_secret: 'wrong' })).status).toBe(401);
    expect(readFileSync(seen, 'utf8')).toBe(before);
  });
});

describe('a login or a link that something else refuses reaches no hook', () => {
  const asked = (loginUserId: string | undefined) => toldAbout(loginUserId).length;
  const conflict = { status: 409, error: 'conflict', further: { merge_possible: true } };

  test('the login of somebody who is blocked, by the first identity or another', async () => {
    const [subject, other] = [unique('alice'), unique('bob')];
    const login = await logIn(undefined, { subject });
    const sub = subOf(login);
    expect(
      (await accountOf(service, login.body.access_token).linkAt('provider_f', other)).status,
    ).toBe(201);
    await service.operate('login-users', 'block', { 'login-user': sub });
    const before = asked(sub);
    for (const blocked of [subject, other]) {
      const naming = 'The Login User is blocked.';
      expectError(await logIn(undefined, { subject: blocked }), { ...refused, naming });
    }
    expect(asked(sub)).toBe(before);
    await service.operate('login-users', 'unblock', { 'login-user': sub });
    expect((await logIn(undefined, { subject: other })).status).toBe(200);
    expect(asked(sub)).toBe(before + 1);
  });

  test('the link of an identity that belongs to somebody else, or is theirs already', async () => {
    const [subject, other] = [unique('alice'), unique('bob')];
    await logIn(undefined, { subject: other });
    const login = await logIn(undefined, { subject });
    const account = accountOf(service, login.body.access_token);
    expectError(await account.linkAt('provider_f', other), conflict);
    expect((await account.linkAt('provider_f', subject)).status).toBe(200);
    expect(toldAbout(subOf(login)).map(({ event }) => event)).toEqual(['login']);
  });

  test('the link of one identity too many', async () => {
    const login = await logIn();
    const account = accountOf(service, login.body.access_token);
    const links = Array.from({ length: 20 }, () => unique('bob'));
    for (const link of links) expect((await account.linkAt('provider_f', link)).status).toBe(201);
    expect(asked(subOf(login))).toBe(21);
    expectError(await account.linkAt('provider_f', unique('bob')), {
      status: 409,
      error: 'conflict',
    });
    expect(asked(subOf(login))).toBe(21);
  });
});

describe('claims of the hook', () => {
  const roles = { roles: ['admin'], groups: ['a'], entitlements: [1], customer: { number: 7 } };

  test('are in the access token and its introspection, as they are', async () => {
    const { body } = await logIn({ answer: { claims: roles } });
    expect(decodeJwt(body.access_token)).toMatchObject({ ...roles, token_use: 'login_user' });
    const introspected = await service.introspect(body.access_token, appOf());
    expect(introspected.body).toMatchObject({ active: true, ...roles });
  });

  test('may be of any depth and size, which no item could have', async () => {
    const deep = JSON.parse(`${'['.repeat(50)}1${']'.repeat(50)}`);
    const odd = { deep, large: 2 ** 60, '': null, empty: {} };
    const login = await logIn({
      answer: { claims: { ...odd, next: { answer: { claims: odd } } } },
    });
    expect(decodeJwt(login.body.access_token)).toMatchObject(odd);
    expect(decodeJwt((await refresh(login)).body.access_token)).toMatchObject(odd);
  });

  test('are those of each refresh; without any, the token has none', async () => {
    const next = { answer: { claims: { roles: ['guest'] } } };
    const login = await logIn({ answer: { claims: { roles: ['admin'], next } } });
    const second = await refresh(login);
    expect(decodeJwt(second.body.access_token)).toMatchObject({ roles: ['guest'] });
    expect(decodeJwt(second.body.access_token)).not.toHaveProperty('next');
    expect(decodeJwt((await refresh(second)).body.access_token)).not.toHaveProperty('roles');
  });

  test('are those of the login where the deployment asks at logins only', async () => {
    const at = atLogin.service;
    const login = await logIn(
      { answer: { claims: { roles: ['admin'], next: { fails: true } } } },
      { at },
    );
    const refreshed = await refresh(login, at);
    expect(decodeJwt(refreshed.body.access_token)).toMatchObject({ roles: ['admin'] });
    expect(toldAbout(subOf(login))).toHaveLength(1);
  });

  test.each([...reservedClaims])(
    '%s is reserved: the login fails, and leaves nothing',
    async (name) => {
      const subject = unique('alice');
      expect((await logIn({ answer: { claims: { [name]: 'x' } } }, { subject })).status).toBe(500);
      const login = await logIn(undefined, { subject });
      expect(toldAbout(subOf(login)).at(-1)).toMatchObject({ first_login: true });
    },
  );

  test('may take 2,048 bytes, and not one more', async () => {
    const claims = (bytes: number) => ({ a: 'é'.repeat((bytes - 8) / 2) });
    expect(Buffer.byteLength(JSON.stringify(claims(2048)))).toBe(2048);
    expect((await logIn({ answer: { claims: claims(2048) } })).status).toBe(200);
    expect((await logIn({ answer: { claims: { a: `${claims(2048).a}x` } } })).status).toBe(500);
  });
});

describe('a hook that refuses', () => {
  const deny = { answer: { deny: true, reason: 'Not in the list of members.' } };

  test('refuses a first login, which leaves nothing behind; the reason is in the log alone', async () => {
    const subject = unique('alice');
    expectError(await logIn(deny, { subject }), refused);
    const denied = { event: 'login_hook_denied', hook_event: 'login', told: deny.answer.reason };
    expect(logLines(running)).toContainEqual(expect.objectContaining(denied));
    const [{ login_user_id } = {}] = told().filter(
      ({ identity }) => Object(identity).subject === subject,
    );
    const shown = service.operate('login-users', 'show', { 'login-user': login_user_id });
    await expect(shown).rejects.toThrow(/no such Login User/);
    expect(subOf(await logIn({}, { subject }))).toBe(login_user_id);
  });

  test('beside logins of the same person that it lets in: those alone have a session', async () => {
    const subject = unique('alice');
    const told = [deny, {}, deny, {}, deny, {}, deny, {}];
    const answers = await Promise.all(told.map((one) => logIn(one, { subject })));
    expect(answers.map(({ status }) => status)).toEqual([400, 200, 400, 200, 400, 200, 400, 200]);
    const account = accountOf(service, answers[1]?.body.access_token);
    expect((await account.sessions()).body.sessions).toHaveLength(4);
  });

  test('refuses a link: the token that came with its code is revoked at once', async () => {
    const scene = standIn.openScene();
    scene.answer('token', {
      body: { id_token: await scene.idToken(), refresh_token: 'of-the-link' },
    });
    const app = await createLoginApp(service, unique('app'));
    const code_exchange = codeExchangeAt(scene);
    const rules = { hook_claims: ['hook'], user_profile: { email: 'email' } };
    const issuers = [{ issuer: scene.url, audiences: [ourApp], code_exchange, ...rules }];
    await service.setProvider(app, 'provider_f', { issuers });
    const user = '{"email":"told@example.com"}';
    const answer = await service.byIdToken(await scene.idToken({ sub: unique('bob') }), app, {
      user,
    });
    const id_token = await scene.idToken({ hook: deny });
    const denied = { provider: 'provider_f', id_token, user, authorization_code: 'a-code' };
    expectError(await accountOf(service, answer.body.access_token).link(denied), refused);
    expect(scene.forms('revoke')).toMatchObject([{ token: 'of-the-link' }]);
    const events = toldAbout(subOf(answer));
    expect(events.map(({ event }) => event)).toEqual(['login', 'link']);
    // The app can't decide anything by what it tells.
    expect(JSON.stringify(events)).not.toContain('told@example.com');
  });

  test('refuses a link: the person has one identity, and the other is free', async () => {
    const account = accountOf(service, (await logIn()).body.access_token);
    const other = unique('bob');
    const link = (hook: Told) =>
      account.linkAt('provider_f', other, { claims: JSON.stringify({ hook }) });
    expectError(await link(deny), refused);
    expect(identityIdsOf(await account.show())).toHaveLength(1);
    expect((await link({})).status).toBe(201);
  });

  test('refuses a refresh: the session ends', async () => {
    const login = await logIn({ answer: { claims: { next: deny } } });
    expectError(await refresh(login), refused);
    expect((await service.introspect(login.body.access_token, appOf())).body).toEqual({
      active: false,
    });
    expect((await refresh(login)).body.error).toBe('invalid_grant');
    expect(toldAbout(subOf(login))).toHaveLength(2);
  });
});

describe('a hook that gives no usable answer', () => {
  const faults: [string, Told][] = [
    ['fails', { fails: true }],
    ['takes too long', { hangs: true }],
    ['answers nothing', { answer: null }],
    ['answers a text', { answer: 'deny' }],
    ['answers an empty text', { answer: '' }],
    ['answers a list', { answer: [] }],
    ['answers a number', { answer: 0 }],
    ['answers true', { answer: true }],
    ['misspells deny', { answer: { denied: true } }],
    ['denies by text', { answer: { deny: 'true' } }],
    ['gives claims that are no object', { answer: { claims: ['admin'] } }],
  ];

  test.each(faults)(
    '%s: a login is a 500, and a refresh a 503 whose session goes on',
    async (_, fault) => {
      const subject = unique('alice');
      expect((await logIn(fault, { subject })).status).toBe(500);
      const at = await logIn({ answer: { claims: { next: fault } } }, { subject });
      const failed = await refresh(at);
      expectError(failed, { status: 503, error: 'temporarily_unavailable' });
      expect(failed.headers.get('retry-after')).toMatch(/^\d+$/);
      const account = accountOf(service, at.body.access_token);
      expect((await account.sessions()).body.sessions).toHaveLength(1);
      const failure = { event: 'login_hook_failed', hook_event: 'refresh' };
      expect(logLines(running)).toContainEqual(expect.objectContaining(failure));
    },
  );
});

describe('a hook that lets a provider’s refresh token come for nothing', () => {
  /** A login and a link with a code beside the id token, of which the hook is told this. */
  async function newScene() {
    const scene = standIn.openScene();
    const app = await createLoginApp(service, unique('app'));
    const code_exchange = codeExchangeAt(scene);
    const issuers = [
      { issuer: scene.url, audiences: [ourApp], code_exchange, hook_claims: ['hook'] },
    ];
    await service.setProvider(app, 'provider_f', { issuers });
    scene.answer('token', async ({ code = '' }) => ({
      body: { id_token: await scene.idToken({ sub: code }), refresh_token: `token-of-${code}` },
    }));
    const credential = async (sub: string, hook: Told) => ({
      id_token: await scene.idToken({ sub, hook }),
      authorization_code: sub,
    });
    const logIn = async (sub: string, hook: Told) => {
      const { id_token, ...code } = await credential(sub, hook);
      return service.byIdToken(id_token, app, code);
    };
    const revoked = () => scene.forms('revoke').map(({ token }) => token);
    return { credential, logIn, revoked };
  }

  test.each<[string, Told, number]>([
    ['refuses', { answer: { deny: true } }, 400],
    ['fails', { fails: true }, 500],
    ['answers a list', { answer: [] }, 500],
  ])('it %s: the token is revoked at once', async (_, hook, status) => {
    const { credential, logIn, revoked } = await newScene();
    const [subject, other] = [unique('alice'), unique('bob')];
    expect((await logIn(subject, hook)).status).toBe(status);
    expect(revoked()).toEqual([`token-of-${subject}`]);
    const account = accountOf(service, (await logIn(subject, {})).body.access_token);
    const linked = await account.link({
      provider: 'provider_f',
      ...(await credential(other, hook)),
    });
    expect(linked.status).toBe(status);
    expect(revoked()).toEqual([`token-of-${subject}`, `token-of-${other}`]);
  });
});

describe('a refresh token that has been replaced', () => {
  /** A login whose second event the hook answers so, and whose third it answers with `later`. */
  const refreshedTwice = async (later: Told) => {
    const claims = { roles: ['admin'], next: later };
    const login = await logIn({ answer: { claims: { next: { answer: { claims } } } } });
    return { login, successor: await refresh(login) };
  };
  const rolesIn = ({ body }: Answer) => decodeJwt(body.access_token).roles;
  const eventsOf = (login: Answer) => toldAbout(subOf(login)).map(({ event }) => event);

  test('within a minute, when a response was lost: the same successor and claims, and the hook is not asked', async () => {
    const { login, successor } = await refreshedTwice({ answer: { deny: true } });
    const repeated = await refresh(login);
    expect(repeated.body.refresh_token).toBe(successor.body.refresh_token);
    expect(rolesIn(repeated)).toEqual(['admin']);
    expect(eventsOf(login)).toEqual(['login', 'refresh']);
  });

  test('later: the hook is asked, and its new claims are those of the session', async () => {
    const guest = { answer: { claims: { roles: ['guest'] } } };
    const { login, successor } = await refreshedTwice(guest);
    running.advance(61);
    const repeated = await refresh(login);
    expect(repeated.body.refresh_token).toBe(successor.body.refresh_token);
    expect(rolesIn(repeated)).toEqual(['guest']);
    await refresh(successor);
    expect(eventsOf(login)).toEqual(['login', 'refresh', 'refresh', 'refresh']);
    expect(toldAbout(subOf(login)).at(-1)).toMatchObject({ previous_claims: { roles: ['guest'] } });
  });

  test('each time that it comes back later, also when it was late before', async () => {
    const keep = { answer: { claims: { next: { answer: { deny: true } } } } };
    const { login, successor } = await refreshedTwice(keep);
    running.advance(61);
    expect((await refresh(login)).status).toBe(200);
    expectError(await refresh(login), refused);
    expect((await refresh(successor)).body.error).toBe('invalid_grant');
  });

  test('later, of somebody who is shut out: the session ends', async () => {
    const { login, successor } = await refreshedTwice({ answer: { deny: true } });
    running.advance(61);
    expectError(await refresh(login), refused);
    const introspected = await service.introspect(successor.body.access_token, appOf());
    expect(introspected.body).toEqual({ active: false });
    expect((await refresh(successor)).body.error).toBe('invalid_grant');
    expect(eventsOf(login)).toEqual(['login', 'refresh', 'refresh']);
  });

  test('later, while the hook fails: a 503, and the session goes on', async () => {
    const { login, successor } = await refreshedTwice({ fails: true });
    running.advance(61);
    expectError(await refresh(login), { status: 503, error: 'temporarily_unavailable' });
    const account = accountOf(service, successor.body.access_token);
    expect((await account.sessions()).body.sessions).toHaveLength(1);
  });

  test('late in the third generation in a row: the session ends, and the hook is not asked', async () => {
    const login = await logIn();
    let predecessor = login;
    for (const statusOfReplay of [200, 200, 400]) {
      const successor = await refresh(predecessor);
      running.advance(61);
      const before = eventsOf(login).length;
      const replayed = await refresh(predecessor);
      expect(replayed.status).toBe(statusOfReplay);
      expect(eventsOf(login).length - before).toBe(statusOfReplay === 200 ? 1 : 0);
      predecessor = successor;
    }
    expect((await refresh(predecessor)).body.error).toBe('invalid_grant');
  });

  test('later, where the deployment asks at logins only: it is not asked', async () => {
    const at = atLogin.service;
    const login = await logIn(
      { answer: { claims: { roles: ['admin'], next: { fails: true } } } },
      { at },
    );
    await refresh(login, at);
    atLogin.running.advance(61);
    expect(rolesIn(await refresh(login, at))).toEqual(['admin']);
    expect(eventsOf(login)).toEqual(['login']);
  });

  test('at once with others: each is the same successor, unless the hook refuses one', async () => {
    const next = { answer: { claims: { next: { answer: {} } } } };
    const login = await logIn({ answer: { claims: { next } } });
    const answers = await Promise.all(Array.from({ length: 4 }, () => refresh(login)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1);
  });
});
