import { afterEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { expectError, tokenResponse } from '../support/expectations.ts';
import { guestIn, newGuest, newGuestApp, newGuestPhone, presenceOf } from '../support/guests.ts';
import { logLines } from '../support/log-lines.ts';
import { createClient, createLoginApp } from '../support/login-app.ts';
import { accountOf, deviceIdsOf, identityIdsOf, newPhone, subOf } from '../support/people.ts';
import { newPhone as startPhone } from '../support/phone.ts';
import { type Answer, unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';

const { running, service } = await sharedServiceWithStore();
const { operate } = service;
afterEach(() => running.resetClock());

const day = 86_400;
const claimsOf = ({ body }: Answer) => decodeJwt(body.access_token);

describe('a guest', () => {
  test('of a confidential client gets tokens that say so, and refreshes them', async () => {
    const answer = await service.token({ grant_type: 'guest', session_name: 'Browser' });
    expect(answer.body).toEqual(tokenResponse);
    const { account, refreshToken, loginUserId } = guestIn(service, answer);
    expect(claimsOf(answer)).toMatchObject({ guest: true, token_use: 'login_user' });
    const refreshed = await service.refresh(refreshToken);
    expect(claimsOf(refreshed)).toMatchObject({ guest: true, sub: loginUserId });
    const shown = (await account.show()).body;
    expect(shown).toMatchObject({ id: loginUserId, guest: true, identities: [] });
    const [session] = (await account.sessions()).body.sessions;
    expect(session).toMatchObject({ current: true, name: 'Browser' });
  });

  test('of a phone refreshes with its key alone', async () => {
    const { phone, refreshToken } = await newGuestPhone(service);
    const other = await startPhone(service, phone.client_id);
    await other.send('token', { grant_type: 'guest' });
    expect((await other.refresh(refreshToken)).body.error).toBe('invalid_dpop_proof');
    const refreshed = await phone.refresh(refreshToken);
    expect(claimsOf(refreshed).guest).toBe(true);
  });

  test('is told of by the introspection of both tokens', async () => {
    const { token, refreshToken } = await newGuest(service);
    for (const one of [token, refreshToken])
      expect((await service.introspect(one)).body).toMatchObject({ active: true, guest: true });
  });

  test('gets a device, which servers find by the id', async () => {
    const guest = await newGuest(service);
    const device = await newPhone(service);
    expect((await service.relate(device, guest.token)).status).toBe(200);
    const { body } = await service.recipients(`login_user_id=${guest.loginUserId}`);
    expect(body.recipients).toMatchObject([{ device_id: device }]);
  });

  test('has nothing to unlink', async () => {
    const { account } = await newGuest(service);
    running.advance(901);
    const answer = await account.unlink(`i_${'A'.repeat(22)}`);
    expectError(answer, { status: 404, error: 'not_found', naming: /no such identity/ });
  });

  test('is shown to operators, listed, exported, found by the token, blocked and deleted', async () => {
    const app = await newGuestApp(service);
    const guest = await newGuest(service, app);
    const flags = { 'login-user': guest.loginUserId };
    expect(await operate('login-users', 'show', flags)).toMatchObject({
      guest: true,
      identities: [],
      active_sessions: 1,
    });
    const { login_users } = await operate('login-users', 'list', { 'login-app': app.login_app_id });
    expect(login_users).toMatchObject([{ login_user_id: guest.loginUserId, guest: true }]);
    const { login_user } = await operate('login-users', 'export', flags);
    expect(login_user).toMatchObject({ guest: true, guest_until: expect.stringMatching(/Z$/) });
    const found = await operate('sessions', 'find', { token: guest.token });
    expect(found).toMatchObject({ session_id: guest.sessionId, guest: true, active: true });
    await operate('login-users', 'block', flags);
    expect((await guest.account.show()).status).toBe(403);
    expect((await service.refresh(guest.refreshToken, app)).body.error).toBe('unauthorized_client');
    expect(await operate('login-users', 'delete', flags)).toMatchObject({ deleted: true });
  });

  test('who deletes the account is gone', async () => {
    const { account, remove, proof, token } = await newGuestPhone(service);
    expectError(await remove(), { status: 400, error: 'invalid_dpop_proof', naming: /DPoP/ });
    expect((await account.show()).status).toBe(200);
    expect((await remove(await proof('DELETE'))).status).toBe(204);
    expect((await accountOf(service, token).show()).status).toBe(401);
  });

  test('lives no longer than the Login App lets guests live, however often it refreshes', async () => {
    const app = await newGuestApp(service, { days: 40 });
    let { refreshToken } = await newGuest(service, app);
    running.advance(25 * day);
    const second = await service.refresh(refreshToken, app);
    expect(second.body.refresh_token_expires_in).toBeLessThanOrEqual(15 * day);
    refreshToken = second.body.refresh_token;
    running.advance(14 * day);
    const third = await service.refresh(refreshToken, app);
    expect(third.body.refresh_token_expires_in).toBeLessThanOrEqual(day);
    running.advance(2 * day);
    expect((await service.refresh(third.body.refresh_token, app)).body.error).toBe('invalid_grant');
  });
});

describe('a guest who links an identity', () => {
  test('is a person with the same id, whose session goes on without the mark', async () => {
    const guest = await newGuestPhone(service);
    const device = await newPhone(service);
    await service.relate(device, guest.token);
    const subject = unique('alice');
    expect((await guest.linkAs(subject)).status).toBe(201);
    const shown = (await guest.account.show()).body;
    expect(shown.guest).toBeUndefined();
    expect(shown.identities).toHaveLength(1);
    // The token still says what was; the introspection says what is.
    expect(decodeJwt(guest.token).guest).toBe(true);
    for (const token of [guest.token, guest.refreshToken]) {
      const { body } = await service.introspect(token);
      expect(body).toMatchObject({ active: true, sub: guest.loginUserId });
      expect(body).not.toHaveProperty('guest');
    }
    const refreshed = await guest.phone.refresh(guest.refreshToken);
    expect(claimsOf(refreshed)).not.toHaveProperty('guest');
    expect(claimsOf(refreshed)).toMatchObject({ sub: guest.loginUserId, sid: guest.sessionId });
    expect(subOf(await guest.phone.logIn(subject))).toBe(guest.loginUserId);
    expect(await deviceIdsOf(service, { ...guest, subject })).toEqual([device]);
    expect(logLines(running, guest.loginUserId)).toContainEqual(
      expect.objectContaining({ event: 'login_user_promoted' }),
    );
  });

  test('may live on after the days of a guest', async () => {
    const app = await newGuestApp(service, { days: 2 });
    const guest = await newGuest(service, app);
    expect((await guest.account.linkAt('provider_f', unique('alice'))).status).toBe(201);
    const { body } = await service.refresh(guest.refreshToken, app);
    expect(body.refresh_token_expires_in).toBeGreaterThan(20 * day);
    running.advance(3 * day);
    expect((await service.refresh(body.refresh_token, app)).status).toBe(200);
  });

  test('needs a token of the last 15 minutes on a confidential client: a refresh gets one', async () => {
    const guest = await newGuest(service);
    running.advance(901);
    const subject = unique('alice');
    const refused = await guest.account.linkAt('provider_a', subject);
    expectError(refused, {
      status: 401,
      error: 'insufficient_user_authentication',
      naming: /refresh it/,
    });
    const { body } = await service.refresh(guest.refreshToken);
    const account = accountOf(service, body.access_token);
    expect((await account.linkAt('provider_a', subject)).status).toBe(201);
    expect(identityIdsOf(await account.show())).toHaveLength(1);
  });

  test('is a person for what comes next: a further link needs a recent login', async () => {
    const guest = await newGuestPhone(service);
    const subject = unique('alice');
    await guest.linkAs(subject);
    running.advance(901);
    const more = unique('more');
    expect((await guest.linkAs(more)).body.error).toBe('insufficient_user_authentication');
    const { access_token } = (await guest.phone.logIn(subject)).body;
    expect((await presenceOf(service, guest.phone, access_token).linkAs(more)).status).toBe(201);
  });

  test('gets a 409 for an identity that somebody has, and stays a guest', async () => {
    const subject = unique('alice');
    const person = subOf(await service.logIn(subject));
    const guest = await newGuest(service);
    const answer = await guest.account.linkAt('provider_f', subject);
    expectError(answer, {
      status: 409,
      error: 'conflict',
      naming: /another Login User/,
      further: { merge_possible: true },
    });
    expect((await guest.account.show()).body.guest).toBe(true);
    expect(subOf(await service.logIn(subject))).toBe(person);
  });

  test('by an operator is a person, too', async () => {
    const guest = await newGuest(service);
    const flags = { 'login-user': guest.loginUserId };
    const subject = unique('alice');
    await operate('identities', 'add', { ...flags, provider: 'provider_a', subject });
    expect(await operate('login-users', 'show', flags)).not.toHaveProperty('guest');
    expect(subOf(await service.logIn(subject, 'provider_a'))).toBe(guest.loginUserId);
  });
});

describe('a person whose only identity an operator moves away', () => {
  test('is no guest', async () => {
    const subject = unique('alice');
    const { body } = await service.logIn(subject, 'provider_a');
    const { loginUserId } = await newGuest(service);
    const flags = { 'login-user': loginUserId, provider: 'provider_a', subject, move: true };
    await operate('identities', 'add', flags);
    expect((await service.refresh(body.refresh_token)).status).toBe(200);
    const shown = (await accountOf(service, body.access_token).show()).body;
    expect(shown.identities).toEqual([]);
    expect(shown).not.toHaveProperty('guest');
  });
});

describe('a Login App', () => {
  test('that lets in no guests says what an operator has to do', async () => {
    const { login_app_id } = await createLoginApp(service, unique('app'));
    const client = { ...(await createClient(service, login_app_id)), login_app_id };
    const answer = await service.token({ grant_type: 'guest' }, client);
    const naming = /login-apps set-guests/;
    expectError(answer, { status: 400, error: 'unauthorized_client', naming });
  });

  test('whose sign-ups are closed lets in no more guests; those who are there go on and link', async () => {
    const app = await newGuestApp(service);
    const guest = await newGuest(service, app);
    await operate('login-apps', 'update', { 'login-app': app.login_app_id, 'sign-ups': 'closed' });
    running.advance(31);
    const answer = await service.token({ grant_type: 'guest' }, app);
    expectError(answer, { status: 400, error: 'invalid_grant', naming: /nobody new/ });
    expect((await service.refresh(guest.refreshToken, app)).status).toBe(200);
    expect((await guest.account.linkAt('provider_f', unique('alice'))).status).toBe(201);
  });

  test('that no longer lets in guests keeps those who are there', async () => {
    const app = await newGuestApp(service);
    const guest = await newGuest(service, app);
    const flags = { 'login-app': app.login_app_id };
    expect(await operate('login-apps', 'set-guests', { ...flags, off: true })).toMatchObject({
      guests: 'off',
    });
    running.advance(31);
    expect((await service.token({ grant_type: 'guest' }, app)).body.error).toBe(
      'unauthorized_client',
    );
    expect(claimsOf(await service.refresh(guest.refreshToken, app)).guest).toBe(true);
    expect(await operate('login-apps', 'show', flags)).not.toHaveProperty('guests');
  });

  test('tells those who write the app, on their page, that it lets in guests', async () => {
    const app = await newGuestApp(service, { days: 7, 'per-hour': 50 });
    const flags = { 'login-app': app.login_app_id };
    const { page } = await operate('login-apps', 'describe', flags);
    expect(page).toMatch(/`grant_type=guest` begins a guest.*up to 50 in an hour/);
    expect(page).toContain('gone after 7 days');
    await operate('login-apps', 'set-guests', { ...flags, off: true });
    expect((await operate('login-apps', 'describe', flags)).page).not.toContain('guest');
  });

  test('keeps the rules that an operator does not name', async () => {
    const app = await newGuestApp(service, { days: 7, 'per-hour': 50 });
    const flags = { 'login-app': app.login_app_id };
    await operate('login-apps', 'set-guests', { ...flags, 'per-client-per-hour': 20 });
    const guests = { days: 7, per_hour: 50, per_client_per_hour: 20 };
    expect(await operate('login-apps', 'show', flags)).toMatchObject({ guests });
  });

  test.each([
    [{}, 'Give --days'],
    [{ days: 366 }, 'must be an integer from 1 to 365'],
    [{ days: 1.5 }, 'must be an integer from 1 to 365'],
    [{ days: 7, 'per-hour': 0 }, 'must be an integer from 1 to 1000000'],
    [{ days: 7, off: true }, 'Give --off alone'],
  ])('refuses the rules %j', async (rules, message) => {
    const { login_app_id } = await createLoginApp(service, unique('app'));
    const flags = { 'login-app': login_app_id, ...rules };
    await expect(operate('login-apps', 'set-guests', flags)).rejects.toThrow(message);
  });
});

test('a client that may log nobody in begins no guest', async () => {
  const { login_app_id } = service.demo.login_app;
  const allowed = { 'grant-types': 'refresh_token,client_credentials' };
  const client = { ...(await createClient(service, login_app_id, allowed)), login_app_id };
  const answer = await service.token({ grant_type: 'guest' }, client);
  expectError(answer, { status: 400, error: 'unauthorized_client', naming: /grant guest/ });
});
