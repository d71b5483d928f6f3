import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { expectError } from '../support/expectations.ts';
import { newIssuerLogin } from '../support/issuer-login.ts';
import { itemsAbout } from '../support/items-about.ts';
import { writtenDuring } from '../support/log-lines.ts';
import {
  accountOf,
  deviceIdsOf,
  eventuallyHas,
  identityIdsOf,
  newPerson,
  newPhone,
  subOf,
} from '../support/people.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { targets } from '../support/provider-targets.ts';
import { type Answer, unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import { costOf } from '../support/store-proxy.ts';

const own = await sharedServiceWithStore();
const { running, service, proxy } = own;
const standIn = await startProviderStandIn();
const { other_login_app } = service.demo;

describe("another person's ids are worth nothing", () => {
  test.each([
    ['of the same Login App', service.demo.login_app],
    ['of another Login App', other_login_app],
  ])('[OWASP API1 2023] %s', async (_, client) => {
    const victim = await newPerson(service);
    await service.logIn(victim.subject);
    await victim.account.linkAt('provider_a', unique('other'));
    const attacker = await newPerson(service, undefined, client);
    if (client === service.demo.login_app)
      await attacker.account.linkAt('provider_a', unique('other'));
    const notFound = { status: 404, error: 'not_found' };
    const { sessions } = (await victim.account.sessions()).body;
    for (const { id } of sessions) expectError(await attacker.account.endSession(id), notFound);
    for (const id of identityIdsOf(await victim.account.show())) {
      expectError(await attacker.account.unlink(id), notFound);
    }
    await attacker.account.endSessions('?except=current');
    expect((await attacker.account.remove()).status).toBe(204);
    expect((await victim.account.sessions()).body.sessions).toHaveLength(2);
    expect(identityIdsOf(await victim.account.show())).toHaveLength(2);
  });

  test('[CWE-204] an unknown id and a foreign one get the same answer, for the same cost', async () => {
    const [victim, attacker] = [await newPerson(service), await newPerson(service)];
    const [identity = ''] = identityIdsOf(await victim.account.show());
    const { endSession, unlink } = attacker.account;
    const phone = await newPhone(service);
    await service.relate(phone, victim.token);
    const endRelation = (id: string) => service.endRelation(id, attacker.token);
    // From now on the Login App is cached.
    await endSession('x');
    for (const [end, foreign, unknown] of [
      // At the same place: there, the attacker has a session of their own.
      [endSession, victim.sessionId, `s_${'A'.repeat(19)}${victim.sessionId.slice(-3)}`],
      [unlink, identity, `i_${'A'.repeat(22)}`],
      [endRelation, phone, `d_${'A'.repeat(43)}`],
    ] as const) {
      const cost = await costOf(proxy, () => end(foreign));
      expect(cost.status).toBe(404);
      expect(cost).toEqual(await costOf(proxy, () => end(unknown)));
    }
    expect(await eventuallyHas(1, () => deviceIdsOf(service, victim))).toEqual([phone]);
  });
});

test('[RFC 6750 3.1] a request without a token learns the scheme and no error code; a malformed or a made-up token is an error', async () => {
  const challengeTo = async (headers: Record<string, string>) =>
    (await service.call('/v2/marketing/login/user', { headers })).headers.get('www-authenticate');
  const scheme = 'Bearer realm="login service"';
  expect(await challengeTo({})).toBe(scheme);
  expect(await challengeTo({ authorization: 'Basic QTpC' })).toBe(scheme);
  for (const token of ['made-up', 'a b', '']) {
    expect(await challengeTo({ authorization: `Bearer ${token}` })).toBe(
      `${scheme}, error="invalid_token"`,
    );
  }
});

test('[OWASP API1 2023] the same provider account is another Login User in another Login App, and stays so when one links it', async () => {
  const subject = unique('alice');
  const here = await newPerson(service);
  await here.account.linkAt('provider_f', subject);
  const there = await newPerson(service, subject, other_login_app);
  expect(there.loginUserId).not.toBe(here.loginUserId);
  expect(identityIdsOf(await there.account.show())).toHaveLength(1);
  await there.account.remove();
  expect(decodeJwt((await service.logIn(subject)).body.access_token).sub).toBe(here.loginUserId);
});

test('[OWASP API1 2023] an identity that is somebody else’s cannot be linked, and stays theirs', async () => {
  const [victim, attacker] = [await newPerson(service), await newPerson(service)];
  const linked = unique('linked');
  await victim.account.linkAt('provider_a', linked);
  const conflict = {
    status: 409,
    error: 'conflict',
    naming: /another Login User/,
    further: { merge_possible: true },
  };
  expectError(await attacker.account.linkAt('provider_f', victim.subject), conflict);
  expectError(await attacker.account.linkAt('provider_a', linked), conflict);
  expect(identityIdsOf(await attacker.account.show())).toHaveLength(1);
  const logins = [await service.logIn(victim.subject), await service.logIn(linked, 'provider_a')];
  expect(logins.map(subOf)).toEqual([victim.loginUserId, victim.loginUserId]);
});

describe('a notification that the issuer has not just sent changes nothing', () => {
  const newVictim = () => newIssuerLogin(service, standIn, { on_account_deleted: 'delete' });

  test.each<[string, string, (jwk: object) => object]>([
    ['RFC 8725 2.1', 'the id of its key', () => ({})],
    ['CVE-2018-0114', 'its own key in the header', (jwk) => ({ jwk })],
    ['RFC 8725 3.10', 'no key id', () => ({ kid: undefined })],
    ['RFC 8725 3.10', 'an unknown key id', () => ({ kid: 'unknown' })],
  ])('[%s] an attacker signs it, with %s: 400', async (_source, _what, more) => {
    const { logIn, notification, post } = await newVictim();
    const { account } = await logIn();
    const genuine = await notification('account-delete');
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const header = {
      alg: 'ES256',
      ...decodeProtectedHeader(genuine),
      ...more(await exportJWK(publicKey)),
    };
    const forged = await new SignJWT(decodeJwt(genuine))
      .setProtectedHeader(header)
      .sign(privateKey);
    expectError(await post(forged), { status: 400, error: 'invalid_request' });
    expect((await account.show()).status).toBe(200);
  });

  test.each(['consent-revoked', 'account-delete'])(
    '[RFC 8417 5.2] %s is repeated when the person has come back: 204, and they stay',
    async (type) => {
      const { logIn, notification, post } = await newVictim();
      const { account } = await logIn();
      const genuine = await notification(type, { iat: running.now() });
      expect((await post(genuine)).status).toBe(204);
      expect((await account.show()).status).toBe(401);
      running.advance(10);
      const again = await logIn();
      expect((await post(genuine)).status).toBe(204);
      expect((await again.account.show()).status).toBe(200);
    },
  );
});

/** Anybody at all may send notifications. */
describe('a made-up notification costs at most one small read', () => {
  const notify = (provider: string, loginApp: string) =>
    service.json(`/v2/marketing/providers/${provider}/notifications?login_app_id=${loginApp}`, {
      payload: 'made-up',
    });
  const readsOf = async (count: number, send: () => Promise<Answer>) => {
    proxy.forget();
    for (let number = 0; number < count; number += 1) {
      expectError(await send(), { status: 400, error: 'invalid_request' });
    }
    return proxy.calls();
  };

  test('[finding] for a made-up Login App', async () => {
    const calls = await readsOf(5, () =>
      notify('provider_f', `la_${randomBytes(16).toString('base64url')}`),
    );
    expect(calls.map(({ operation }) => operation)).toEqual(Array(5).fill('GetItem'));
    for (const { units, bytes } of calls) expect([units, bytes]).toEqual([1, 2]);
  });

  test('[finding] for a provider that a Login App has not: one read in a second', async () => {
    const startedAt = performance.now();
    const calls = await readsOf(20, () => notify('provider_f', `la_${'B'.repeat(22)}`));
    const seconds = Math.ceil((performance.now() - startedAt) / 1000);
    expect(calls.length).toBeLessThanOrEqual(1 + seconds);
  });

  test('[finding] for one that it has: none', async () => {
    const { login_app_id } = service.demo.login_app;
    await readsOf(1, () => notify('provider_f', login_app_id));
    expect(await readsOf(5, () => notify('provider_f', login_app_id))).toEqual([]);
  });
});

test('[OWASP API4 2023] made-up credentials stop after ten in ten minutes: 429, without a call to the provider', async () => {
  const { app, logIn } = await newIssuerLogin(service, standIn);
  const scene = standIn.openScene();
  const { provider, settings } = targets.introspection;
  await service.setProvider(
    app,
    provider,
    settings((endpoint) => `${scene.url}/${endpoint}`),
  );
  scene.answer('introspection', { status: 200, body: { active: false } });
  const [{ account }, other] = [await logIn(), await logIn(unique('bob'))];
  const guess = (by = account) => by.link({ provider, access_token: unique('made-up') });
  const rejected = { status: 400, error: 'invalid_grant' };
  for (let tried = 0; tried < 10; tried += 1) expectError(await guess(), rejected);
  const stopped = await guess();
  expectError(stopped, { status: 429, error: 'too_many_requests' });
  expect(scene.calls('introspection')).toBe(10);
  expectError(await guess(other.account), rejected);
  const seconds = Number(stopped.headers.get('retry-after'));
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThan(601);
  running.advance(seconds);
  expectError(await guess(), rejected);
  scene.behave();
  expect((await account.link({ provider, access_token: 'an-access-token' })).status).toBe(201);
});

describe('a profile from a hostile provider', () => {
  const profile = { email: 'email', name: 'name', picture: 'picture' };

  test.each<[string, string, string]>([
    ['CWE-400', '10,000 characters', JSON.stringify({ name: 'Mallory'.repeat(1_500) })],
    ['CWE-400', 'objects in objects', `{"name":${'{"x":'.repeat(500)}"Mallory"${'}'.repeat(500)}}`],
    ['CWE-93', 'ends of lines', JSON.stringify({ email: 'a@example.com\r\nBcc: Mallory' })],
    ['CWE-150', 'control characters', JSON.stringify({ name: '\u001b[2J\u0000Mallory' })],
    ['CWE-176', 'half of a surrogate pair', JSON.stringify({ name: 'Mallory \ud800' })],
    ['CVE-2019-10744', '__proto__', '{"__proto__":{"name":"Mallory","email":"Mallory"}}'],
    [
      'CVE-2019-10744',
      'a constructor',
      '{"constructor":{"prototype":{"name":"Mallory"}},"name":null}',
    ],
    ['CWE-79', 'a script as a picture', JSON.stringify({ picture: 'javascript:alert("Mallory")' })],
    ['CWE-79', 'a page as a picture', JSON.stringify({ picture: 'data:text/html,Mallory' })],
  ])(
    '[%s] with %s: they log in, and nothing of it is kept or logged',
    async (_source, _what, claims) => {
      const { logIn } = await newIssuerLogin(service, standIn, { profile });
      const written = await writtenDuring(running, async () => {
        const { status, account } = await logIn(unique('alice'), JSON.parse(claims));
        expect(status).toBe(200);
        expect((await account.show()).text).not.toContain('profile');
      });
      expect(written).not.toContain('Mallory');
      expect(await itemsAbout(own, 'Mallory')).toEqual([]);
    },
  );

  test('[OWASP API3 2023] the same person in another Login App shows nothing of it', async () => {
    const query = {
      subject: unique('alice'),
      claims: JSON.stringify({ email: 'shared@example.com' }),
    };
    await service.token(await service.loginForm('provider_f', query));
    const { account } = await newPerson(service, query.subject, other_login_app);
    expect((await account.show()).text).not.toContain('shared@example.com');
  });

  test('[CWE-212] nothing of it remains of an identity that is unlinked, first or linked', async () => {
    const [subject, mark] = [unique('alice'), unique('mark')];
    const claims = JSON.stringify({ name: mark });
    const { body } = await service.token(
      await service.loginForm('provider_f', { subject, claims }),
    );
    const account = accountOf(service, body.access_token);
    for (const told of [{ claims }, {}]) await account.linkAt('provider_a', unique('other'), told);
    const [first = '', linked = ''] = identityIdsOf(await account.show());
    expect((await account.unlink(linked)).status).toBe(204);
    expect(await itemsAbout(own, mark)).toHaveLength(1);
    expect((await account.unlink(first)).status).toBe(204);
    expect(await itemsAbout(own, mark)).toEqual([]);
  });
});

test('[CVE-2013-4593] a credential that was issued to another app links nothing', async () => {
  const { account } = await newPerson(service);
  for (const provider of ['provider_a', 'provider_d', 'provider_f']) {
    const query = { subject: unique('victim'), audience: 'another-app' };
    const { authorization_code: _, ...credential } = await service.credentials(provider, query);
    expectError(await account.link({ provider, ...credential }), {
      status: 400,
      error: 'invalid_grant',
    });
  }
  expect(identityIdsOf(await account.show())).toHaveLength(1);
});

test('[CWE-212] the table keeps no subject or profile of a deleted person, and only their id, Login App and times of the deletion', async () => {
  const { account, subject, loginUserId, token } = await newPerson(service);
  const linked = unique('linked');
  const mark = unique('mark');
  await account.linkAt('provider_a', linked, { claims: JSON.stringify({ name: mark }) });
  await service.logIn(linked, 'provider_a');
  expect((await account.show()).text).toContain(mark);
  await service.relate(await newPhone(service), token);
  expect((await account.remove()).status).toBe(204);
  for (const about of [subject, linked, mark]) expect(await itemsAbout(own, about)).toEqual([]);
  const theirs = await itemsAbout(own, loginUserId);
  expect(theirs.map((item) => Object.keys(item).toSorted())).toEqual([
    [
      'created_by',
      'deleted_at',
      'login_app_id',
      'login_user_id',
      'next_slot',
      'pk',
      'sk',
      'write_id',
    ],
  ]);
});
