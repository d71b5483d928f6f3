import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { expectError } from '../support/expectations.ts';
import { newGuest, newGuestApp, newGuestPhone, presenceOf } from '../support/guests.ts';
import { itemsAbout } from '../support/items-about.ts';
import { logLines } from '../support/log-lines.ts';
import { createClient } from '../support/login-app.ts';
import { accountOf, identityIdsOf, newPerson, subOf } from '../support/people.ts';
import { newPublicClient, newPhone as startPhone } from '../support/phone.ts';
import { type Answer, unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';

const own = await sharedServiceWithStore();
const { running, service } = own;
afterEach(() => running.resetClock());

const guestForm = { grant_type: 'guest' };

describe('a thief with a stolen access token of a guest on a phone', () => {
  const stolen = async () => {
    const guest = await newGuestPhone(service);
    const thief = await startPhone(service, guest.phone.client_id);
    // The thief has a guest, too, with a nonce of the service and another key.
    await thief.send('token', guestForm);
    const { grant_type: _, ...form } = await thief.loginForm(unique('thief'));
    return { guest, form, ofThief: presenceOf(service, thief, guest.token) };
  };
  const expectStillGuest = async ({ account }: Awaited<ReturnType<typeof newGuestPhone>>) => {
    const { body } = await account.show();
    expect(body).toMatchObject({ guest: true, identities: [] });
  };

  test('[CWE-862] links no identity without a proof, however young the guest is', async () => {
    const { guest, form, ofThief } = await stolen();
    expectError(await ofThief.link(form), {
      status: 400,
      error: 'invalid_dpop_proof',
      naming: /^Send a proof in the header DPoP, by the key of the session/,
    });
    await expectStillGuest(guest);
  });

  test('[RFC 9449 11.1] links no identity by a key of the own', async () => {
    const { guest, form, ofThief } = await stolen();
    const proof = await ofThief.proof('POST', '/identities');
    expectError(await ofThief.link(form, proof), {
      status: 400,
      error: 'invalid_dpop_proof',
      naming: /by the key that the person logged in with/,
    });
    await expectStillGuest(guest);
  });

  test('[RFC 9449 11.1] links no identity by a proof that was seen', async () => {
    const { guest, form, ofThief } = await stolen();
    const proof = await guest.proof('POST', '/identities');
    const refused = await guest.link({ provider: 'provider_f', id_token: 'made-up' }, proof);
    expect(refused.status).toBe(400);
    expectError(await ofThief.link(form, proof), {
      status: 400,
      error: 'invalid_dpop_proof',
      naming: /has been used/,
    });
    await expectStillGuest(guest);
  });

  test.each<[string, 'POST' | 'DELETE', string, object]>([
    ['for the token endpoint', 'POST', '', { htu: undefined }],
    ['for another path', 'POST', '', {}],
    ['for another method', 'DELETE', '/identities', {}],
  ])('[RFC 9449 11.1] links no identity by a proof %s', async (_, method, path, claims) => {
    const { guest, form, ofThief } = await stolen();
    const proof = await guest.proof(method, path, claims);
    expect((await ofThief.link(form, proof)).body.error).toBe('invalid_dpop_proof');
    await expectStillGuest(guest);
  });

  test.each<[string, (now: number) => object]>([
    ['without a nonce', () => ({ nonce: undefined })],
    ['with a made-up nonce', () => ({ nonce: 'made-up' })],
    [
      'for later, made while the thief had the phone',
      (now) => ({ nonce: undefined, iat: now + 600 }),
    ],
  ])('[RFC 9449 11.2] links no identity by a proof %s', async (_, claims) => {
    const { guest, form, ofThief } = await stolen();
    const proof = await guest.proof('POST', '/identities', claims(running.now()));
    const refused = await ofThief.link(form, proof);
    expect(refused.body.error).toBe('use_dpop_nonce');
    expect(refused.headers.get('dpop-nonce')).toMatch(/./);
    await expectStillGuest(guest);
  });

  test('[CWE-862] does not delete the account', async () => {
    const { guest, ofThief } = await stolen();
    for (const proof of [undefined, await ofThief.proof('DELETE')])
      expect((await ofThief.remove(proof)).body.error).toBe('invalid_dpop_proof');
    await expectStillGuest(guest);
  });

  test('control: the guest links, and deletes the account', async () => {
    const { guest } = await stolen();
    expect((await guest.linkAs(unique('alice'))).status).toBe(201);
    const other = await newGuestPhone(service);
    expect((await other.remove(await other.proof('DELETE'))).status).toBe(204);
  });
});

describe('a thief with a stolen access token of a guest of a server', () => {
  test('[CWE-613] links no identity and deletes nothing once it is older than a recent login', async () => {
    const guest = await newGuest(service);
    running.advance(901);
    // The session was refreshed just now, by the server. The stolen token is not the new one.
    await service.refresh(guest.refreshToken);
    for (const answer of [
      await guest.account.linkAt('provider_a', unique('thief')),
      await guest.account.remove(),
    ]) {
      expect(answer.body.error).toBe('insufficient_user_authentication');
      expect(answer.headers.get('www-authenticate')).toMatch(/, max_age=900$/);
    }
    expect((await guest.account.show()).body).toMatchObject({ guest: true, identities: [] });
  });
});

describe('a guest', () => {
  test('[CWE-639] gets nobody’s identity by linking it, and learns nothing of whose it is', async () => {
    const victim = await newPerson(service);
    const guest = await newGuest(service);
    const { status, body } = await guest.account.linkAt('provider_f', victim.subject);
    expect(status).toBe(409);
    expect(JSON.stringify(body)).not.toContain(victim.loginUserId);
    expect(subOf(await service.logIn(victim.subject))).toBe(victim.loginUserId);
  });

  test('[CWE-841] does not become a guest again by losing the only identity, and keeps it', async () => {
    const guest = await newGuest(service);
    await guest.account.linkAt('provider_a', unique('alice'));
    const [id = ''] = identityIdsOf(await guest.account.show());
    expect((await guest.account.unlink(id)).status).toBe(422);
    expect((await guest.account.show()).body).not.toHaveProperty('guest');
  });

  test('[CWE-613] whose account is deleted does nothing more with any token', async () => {
    const guest = await newGuest(service);
    await guest.account.remove();
    expect((await guest.account.linkAt('provider_a', unique('alice'))).status).toBe(401);
    expect((await service.refresh(guest.refreshToken)).body.error).toBe('invalid_grant');
    expect((await service.introspect(guest.token)).body).toEqual({ active: false });
  });

  test('[RFC 9449 11.1] of a phone comes with a proof that counts once', async () => {
    const phone = await startPhone(service, await newPublicClient(service));
    const proof = await phone.proof('token');
    expect((await phone.send('token', guestForm, proof)).status).toBe(200);
    expect((await phone.send('token', guestForm, proof)).body.error).toBe('invalid_dpop_proof');
    expect((await phone.send('token', guestForm, null)).body.error).toBe('invalid_dpop_proof');
  });

  test('[CWE-915] names neither the id nor the mark: parameters that are not of the grant change nothing', async () => {
    const { loginUserId } = await newPerson(service);
    const form = { ...guestForm, sub: loginUserId, login_user_id: loginUserId, guest: 'false' };
    const { body } = await service.token(form);
    const { sub, guest } = decodeJwt(body.access_token);
    expect(sub).not.toBe(loginUserId);
    expect(guest).toBe(true);
  });

  test('[CWE-284] of another Login App is none here', async () => {
    const app = await newGuestApp(service);
    const guest = await newGuest(service, app);
    expect((await service.refresh(guest.refreshToken)).body.error).toBe('invalid_grant');
    expect((await service.introspect(guest.token)).body).toEqual({ active: false });
  });
});

describe('a bot', () => {
  // No hour ends while a test counts.
  beforeEach(() => {
    const left = 3600 - (running.now() % 3600);
    if (left < 45) running.advance(left);
  });
  const expectQuota = (answer: Answer, naming: RegExp) => {
    expectError(answer, { status: 429, error: 'too_many_requests', naming });
    const seconds = Number(answer.headers.get('retry-after'));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(3600);
  };
  const made = (answers: Answer[]) => answers.filter(({ status }) => status === 200).length;

  test('[CWE-770] with one key makes ten guests in an hour, of hundreds of requests, and uses up nobody else’s quota', async () => {
    const app = await newGuestApp(service, { 'per-hour': 12, 'per-client-per-hour': 12 });
    const phone = await startPhone(service, app.publicClient);
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => phone.send('token', guestForm)),
    );
    expect(made(answers)).toBe(10);
    expectQuota(await phone.send('token', guestForm), /^One key may make 10 guests in an hour/);
    const stored = await itemsAbout(own, app.login_app_id);
    expect(stored.filter(({ guest_until }) => guest_until !== undefined)).toHaveLength(10);
    // Two are left, for others.
    const other = await startPhone(service, app.publicClient);
    expect((await other.send('token', guestForm)).status).toBe(200);
    running.advance(3600);
    expect((await phone.send('token', guestForm)).status).toBe(200);
  });

  test('[CWE-770] with many keys makes as many as the client may, and those of another client still begin', async () => {
    const app = await newGuestApp(service, { 'per-hour': 100, 'per-client-per-hour': 5 });
    const begin = async () =>
      (await startPhone(service, app.publicClient)).send('token', guestForm);
    const answers = await Promise.all(Array.from({ length: 20 }, begin));
    expect(made(answers)).toBe(5);
    expectQuota(await begin(), /^The client may make 5 guests in an hour/);
    expect((await service.token(guestForm, app)).status).toBe(200);
  });

  test('[CWE-770] with many clients makes as many as the Login App lets in; people still log in', async () => {
    const app = await newGuestApp(service, { 'per-hour': 5, 'per-client-per-hour': 4 });
    const { login_app_id } = app;
    const second = { ...(await createClient(service, login_app_id)), login_app_id };
    const answers: Answer[] = [];
    for (const client of [app, second])
      for (let tries = 0; tries < 6; tries += 1)
        answers.push(await service.token(guestForm, client));
    expect(made(answers)).toBe(5);
    const third = { ...(await createClient(service, login_app_id)), login_app_id };
    expectQuota(
      await service.token(guestForm, third),
      /^The Login App lets in 5 guests in an hour/,
    );
    const reasons = logLines(running, login_app_id).map(({ reason }) => reason);
    expect(reasons).toContain('guests_of_login_app_exceeded');
    expect((await service.logIn(unique('alice'), 'provider_f', app)).status).toBe(200);
  });

  test('[CWE-770] that replays a proof, or sends none, uses up no quota', async () => {
    const app = await newGuestApp(service, { 'per-hour': 2, 'per-client-per-hour': 2 });
    const phone = await startPhone(service, app.publicClient);
    const proof = await phone.proof('token');
    await phone.send('token', guestForm, proof);
    for (let tries = 0; tries < 5; tries += 1) await phone.send('token', guestForm, proof);
    const other = await startPhone(service, app.publicClient);
    expect((await other.send('token', guestForm)).status).toBe(200);
  });
});

test('[CWE-287] a token that says that it is no guest’s any more is believed by the introspection alone', async () => {
  const guest = await newGuest(service);
  await guest.account.linkAt('provider_a', unique('alice'));
  expect(decodeJwt(guest.token).guest).toBe(true);
  expect((await service.introspect(guest.token)).body.guest).toBeUndefined();
  expect((await accountOf(service, guest.token).show()).body.guest).toBeUndefined();
});
