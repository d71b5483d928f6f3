import { afterEach, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { expectError } from '../support/expectations.ts';
import { newGuestPhone } from '../support/guests.ts';
import { createLoginApp, demoSettings } from '../support/login-app.ts';
import { merge, mergeForm, mergeFromPhone, mergeProof, sendMerge } from '../support/merges.ts';
import { accountOf, newPerson, subOf } from '../support/people.ts';
import { newPublicClient, newPhone as startPhone } from '../support/phone.ts';
import { unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';

const { running, service, proxy } = await sharedServiceWithStore();
afterEach(() => running.resetClock());

/** A person who has just logged in on a phone without a server. */
async function newPersonOnPhone() {
  const phone = await startPhone(service, await newPublicClient(service));
  const subject = unique('on-phone');
  const { body } = await phone.logIn(subject);
  const token = String(body.access_token);
  return { phone, subject, token, loginUserId: String(decodeJwt(token).sub) };
}

/** Whether two people are still two. */
async function areTwo(...people: { subject: string; loginUserId: string }[]) {
  for (const { subject, loginUserId } of people)
    expect(subOf(await service.logIn(subject))).toBe(loginUserId);
}

test('[CWE-287] an access token of a phone merges nothing without the key, whatever else the thief has', async () => {
  const victim = await newPersonOnPhone();
  const thief = await newPersonOnPhone();
  const proofs = [
    undefined,
    await mergeProof(service, thief.phone),
    await victim.phone.proof('token'),
    await mergeProof(service, victim.phone, { htm: 'DELETE' }),
  ];
  for (const keep of ['mine', 'theirs'])
    for (const dpop of proofs) {
      const { grant_type: _, ...form } = await thief.phone.loginForm(thief.subject);
      const headers: Record<string, string> = dpop === undefined ? {} : { dpop };
      const answer = await sendMerge(service, victim, { keep, ...form }, headers);
      expectError(answer, { status: 400, error: 'invalid_dpop_proof' });
    }
  await areTwo(victim, thief);
});

test('[CWE-294] a proof of the key counts once, and needs a nonce of the service', async () => {
  const victim = await newPersonOnPhone();
  const other = await newPerson(service);
  const dpop = await mergeProof(service, victim.phone);
  const form = async (keep: string) => {
    const { grant_type: _, ...fields } = await victim.phone.loginForm(other.subject);
    return { keep, ...fields };
  };
  const refused = await sendMerge(service, victim, await mergeForm(service, 'mine', unique('x')), {
    dpop,
  });
  expect(refused.status).toBe(400);
  expectError(await sendMerge(service, victim, await form('mine'), { dpop }), {
    status: 400,
    error: 'invalid_dpop_proof',
    naming: /has been used/,
  });
  const withoutNonce = await mergeProof(service, victim.phone, { nonce: undefined });
  expect(
    (await sendMerge(service, victim, await form('mine'), { dpop: withoutNonce })).body.error,
  ).toBe('use_dpop_nonce');
  await areTwo(victim, other);
});

test('[CWE-362] a proof and a credential that come five times at once merge once', async () => {
  const victim = await newPersonOnPhone();
  const other = await newPerson(service);
  const dpop = await mergeProof(service, victim.phone);
  const { grant_type: _, ...fields } = await victim.phone.loginForm(other.subject);
  const form = { keep: 'theirs', ...fields };
  const requests = Array.from({ length: 5 }, () => sendMerge(service, victim, form, { dpop }));
  const statuses = (await Promise.all(requests)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(1);
  expect(statuses.filter((status) => status >= 500)).toEqual([]);
});

test('[CWE-400] a row of merges does not make every look at its first id dearer', async () => {
  const first = await newPerson(service);
  let last = first;
  for (let count = 0; count < 30; count += 1) {
    const next = await newPerson(service);
    await merge(service, next, 'mine', last.subject);
    if ((await last.account.show()).status === 401) last = next;
  }
  proxy.forget();
  await service.introspect(first.token);
  expect(proxy.calls().length).toBeLessThan(25);
});

test('[CWE-287] a session alone merges nothing: the credential of the other account has to be theirs and fresh', async () => {
  const victim = await newPerson(service);
  const thief = await newPerson(service);
  const forms: Record<string, string>[] = [
    { keep: 'mine', provider: 'provider_f', id_token: victim.token },
    { keep: 'mine', provider: 'provider_f', id_token: 'x.y.z' },
  ];
  for (const form of forms)
    expectError(await sendMerge(service, thief, form), { status: 400, error: 'invalid_grant' });
  await areTwo(victim, thief);
});

test('[RFC 9470 3] a login of long ago merges nothing', async () => {
  const victim = await newPerson(service);
  const thief = await newPerson(service);
  running.advance(901);
  for (const keep of ['mine', 'theirs'])
    expectError(await merge(service, victim, keep, thief.subject), {
      status: 401,
      error: 'insufficient_user_authentication',
    });
  await areTwo(victim, thief);
});

test('[CWE-294] an id token with a nonce of the service that has logged somebody in, or was sent with a merge, merges nobody else', async () => {
  const victim = await newPersonOnPhone();
  const other = await newPerson(service);
  const thief = await newPersonOnPhone();
  const login = await victim.phone.loginForm(victim.subject);
  await victim.phone.send('token', login);
  const merging = await victim.phone.loginForm(other.subject);
  const { grant_type: _, ...used } = merging;
  const own = await mergeProof(service, victim.phone);
  expect((await sendMerge(service, victim, { keep: 'mine', ...used }, { dpop: own })).status).toBe(
    200,
  );
  for (const { grant_type, ...fields } of [login, merging]) {
    const dpop = await mergeProof(service, thief.phone);
    const stolen = await sendMerge(service, thief, { keep: 'mine', ...fields }, { dpop });
    expectError(stolen, { status: 400, error: 'invalid_grant', naming: /nonce/ });
  }
  await areTwo(victim, thief);
});

test('[CWE-639] the credential of a person of another Login App merges nobody there', async () => {
  const app = await createLoginApp(service, 'Other', { platforms: [] });
  await service.setProvider(app, 'provider_f', await demoSettings(service, 'provider_f'));
  const there = await newPerson(service, unique('there'), app);
  const here = await newPerson(service);
  expectError(await merge(service, here, 'mine', there.subject), {
    status: 409,
    error: 'conflict',
    naming: /no other account/,
  });
  expect((await there.account.show()).status).toBe(200);
});

test('[CWE-863] a blocked account is neither given up nor kept, by its own session or another', async () => {
  const [blocked, other] = [await newPerson(service), await newPerson(service)];
  await service.operate('login-users', 'block', { 'login-user': blocked.loginUserId });
  for (const keep of ['mine', 'theirs'])
    for (const [caller, subject] of [
      [blocked, other.subject],
      [other, blocked.subject],
    ] as const)
      expectError(await merge(service, caller, keep, subject), { status: 403, error: 'forbidden' });
  const flags = { 'login-user': other.loginUserId, 'given-up': blocked.loginUserId, reason: 'x' };
  await expect(service.operate('login-users', 'merge', flags)).rejects.toThrow('blocked');
  await service.operate('login-users', 'unblock', { 'login-user': blocked.loginUserId });
  await areTwo(blocked, other);
});

test('[CWE-307] a session that sends credentials to try is slowed down as at a link', async () => {
  const thief = await newPerson(service);
  const form = { keep: 'mine', provider: 'provider_f', id_token: 'x.y.z' };
  for (let attempt = 0; attempt < 10; attempt += 1)
    expect((await sendMerge(service, thief, form)).status).toBe(400);
  expect((await sendMerge(service, thief, form)).status).toBe(429);
});

test('[CWE-345] equal addresses that a provider has verified merge nobody, and link nobody', async () => {
  const claims = JSON.stringify({ email: 'shared@example.com', email_verified: true });
  const [one, two] = [unique('one'), unique('two')];
  const logIn = async (subject: string) =>
    service.token(await service.loginForm('provider_f', { subject, claims }));
  const ids = [subOf(await logIn(one)), subOf(await logIn(two))];
  expect(new Set(ids).size).toBe(2);
});

test('[CWE-613] no token of the account that is gone does anything any more', async () => {
  const [kept, gone] = [await newPerson(service), await newPerson(service)];
  await merge(service, kept, 'mine', gone.subject);
  const further = { merged_into: kept.loginUserId };
  const error = { status: 401, error: 'invalid_token', further };
  const { account, token } = gone;
  const answers = [
    await account.show(),
    await account.remove(),
    await account.sessions(),
    await account.linkAt('provider_a', unique('x')),
    await service.listDevices(token),
    await merge(service, gone, 'mine', kept.subject),
  ];
  for (const answer of answers) expectError(answer, error);
  expect((await service.refresh(gone.refreshToken)).body.error).toBe('invalid_grant');
});

test('[CWE-200] introspection by another Login App does not say where somebody is', async () => {
  const app = await createLoginApp(service, 'Other', { platforms: [] });
  const [kept, gone] = [await newPerson(service), await newPerson(service)];
  await merge(service, kept, 'mine', gone.subject);
  for (const token of [gone.token, gone.refreshToken])
    expect((await service.introspect(token, app)).body).toEqual({ active: false });
});

test('[CWE-863] a client that may log in nobody any more gets no session by a merge', async () => {
  const app = await createLoginApp(service, unique('app'), { providers: ['provider_f'] });
  const mine = await newPerson(service, unique('mine'), app);
  const theirs = await newPerson(service, unique('theirs'), app);
  const { login_app_id, client_id } = app;
  const flags = { 'login-app': login_app_id, client: client_id, 'grant-types': 'refresh_token' };
  await service.operate('clients', 'update', flags);
  running.advance(31);
  expectError(await merge(service, mine, 'theirs', theirs.subject), {
    status: 400,
    error: 'unauthorized_client',
    naming: /may not use the grant provider_credentials. Send keep=mine./,
  });
  const kept = await merge(service, mine, 'mine', theirs.subject);
  expect(kept.body).toMatchObject({ id: mine.loginUserId, merged_from: theirs.loginUserId });
});

test('[CWE-287] the key of a guest gives up the guest alone: it opens no account without a credential', async () => {
  const guest = await newGuestPhone(service);
  const victim = await newPerson(service);
  const dpop = await mergeProof(service, guest.phone);
  const { grant_type: _, ...fields } = await guest.phone.loginForm();
  const form = { ...fields, keep: 'theirs', id_token: victim.token };
  expect((await sendMerge(service, guest, form, { dpop })).body.error).toBe('invalid_grant');
  expect((await victim.account.show()).body.identities).toHaveLength(1);
});

test('control: a person on a phone merges with the key and a fresh credential', async () => {
  const person = await newPersonOnPhone();
  const other = await newPerson(service);
  const { status, body } = await mergeFromPhone(service, person, 'mine', other.subject);
  expect({ status, id: body.id }).toEqual({ status: 200, id: person.loginUserId });
  expect((await accountOf(service, person.token).show()).body.identities).toHaveLength(2);
});
