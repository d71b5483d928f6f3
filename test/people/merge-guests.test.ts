import { afterEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { expectError } from '../support/expectations.ts';
import { newGuest, newGuestPhone } from '../support/guests.ts';
import { itemsAbout } from '../support/items-about.ts';
import { merge, mergeFromPhone } from '../support/merges.ts';
import {
  accountOf,
  deviceIdsOf,
  eventually,
  newPerson,
  newPhone,
  subOf,
} from '../support/people.ts';
import { type Answer, unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';

const own = await sharedServiceWithStore();
const { running, service } = own;
afterEach(() => running.resetClock());

const claimsOf = ({ body }: Answer) => decodeJwt(body.access_token);
const finish = () => service.runSchedule();

describe('a guest who is merged into a person', () => {
  test('keeps the session for ten minutes, marked, for showing and refreshing alone', async () => {
    const person = await newPerson(service);
    const guest = await newGuest(service);
    const merged_into = person.loginUserId;
    const { status, body } = await merge(service, guest, 'theirs', person.subject);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { id: merged_into, merged_from: guest.loginUserId, moved: { identities: 0 } },
    });
    const shown = await guest.account.show();
    expect(shown).toMatchObject({
      status: 200,
      body: { id: guest.loginUserId, guest: true, merged_into, identities: [] },
    });
    for (const token of [guest.token, guest.refreshToken])
      expect((await service.introspect(token)).body).toMatchObject({
        active: true,
        guest: true,
        merged_into,
        sub: guest.loginUserId,
      });
    running.advance(120);
    const refreshed = await service.refresh(guest.refreshToken);
    expect(claimsOf(refreshed)).toMatchObject({ guest: true, merged_into, sub: guest.loginUserId });
    expect(refreshed.body.expires_in).toBeLessThanOrEqual(480);
    expect(refreshed.body.refresh_token_expires_in).toBeLessThanOrEqual(480);
    const account = accountOf(service, refreshed.body.access_token);
    const refusals = [
      await account.linkAt('provider_a', unique('other')),
      await account.remove(),
      await account.sessions(),
      await service.relate(await newPhone(service), refreshed.body.access_token),
      await merge(service, { token: refreshed.body.access_token }, 'mine', person.subject),
    ];
    for (const refusal of refusals)
      expectError(refusal, {
        status: 401,
        error: 'invalid_token',
        naming: /merged/,
        further: { merged_into },
      });
    running.advance(500);
    expect((await service.refresh(refreshed.body.refresh_token)).body.error).toBe('invalid_grant');
    expect((await guest.account.show()).status).toBe(401);
    expect((await service.introspect(guest.token)).body).toEqual({ active: false, merged_into });
    running.advance(600);
    const left = await eventually(
      async () => {
        await finish();
        return itemsAbout(own, guest.loginUserId);
      },
      (items) => items.length === 1,
    );
    expect(left).toMatchObject([{ merged_into }]);
  });

  test('repeats a refresh, and gets no token that lives longer than the session', async () => {
    const person = await newPerson(service);
    const guest = await newGuest(service);
    await service.refresh(guest.refreshToken);
    await merge(service, guest, 'theirs', person.subject);
    const repeated = await service.refresh(guest.refreshToken);
    expect(claimsOf(repeated).merged_into).toBe(person.loginUserId);
    expect(repeated.body.expires_in).toBeLessThanOrEqual(600);
  });

  test('brings the devices, which the new session has', async () => {
    const person = await newPerson(service);
    const guest = await newGuest(service);
    const device = await newPhone(service);
    await service.relate(device, guest.token);
    const { body } = await merge(service, guest, 'theirs', person.subject);
    expect(body.moved.devices).toBe(1);
    expect(await deviceIdsOf(service, person)).toEqual([device]);
    const { sid } = claimsOf(await service.refresh(body.refresh_token));
    await person.account.endSession(String(sid));
    expect(await deviceIdsOf(service, person)).toEqual([]);
  });

  test('from a phone, by a proof of the key, which the new session has, too', async () => {
    const guest = await newGuestPhone(service);
    const person = await newPerson(service);
    const { status, body } = await mergeFromPhone(service, guest, 'theirs', person.subject);
    expect({ status, id: body.id }).toEqual({ status: 200, id: person.loginUserId });
    expect((await service.refresh(body.refresh_token)).status).toBe(400);
    expect(subOf(await guest.phone.refresh(body.refresh_token))).toBe(person.loginUserId);
  });
});

test('a guest who is kept becomes a person with the identities of the other', async () => {
  const person = await newPerson(service);
  const guest = await newGuest(service);
  const { body } = await merge(service, guest, 'mine', person.subject);
  expect(body).toMatchObject({ id: guest.loginUserId, merged_from: person.loginUserId });
  expect(body).not.toHaveProperty('guest');
  expect(subOf(await service.logIn(person.subject))).toBe(guest.loginUserId);
  expect(claimsOf(await service.refresh(guest.refreshToken))).not.toHaveProperty('guest');
});

test('a guest of a server needs a token of the last 15 minutes', async () => {
  const person = await newPerson(service);
  const guest = await newGuest(service);
  running.advance(901);
  expect((await merge(service, guest, 'theirs', person.subject)).body.error).toBe(
    'insufficient_user_authentication',
  );
  const token = (await service.refresh(guest.refreshToken)).body.access_token;
  expect((await merge(service, { token }, 'theirs', person.subject)).status).toBe(200);
});
