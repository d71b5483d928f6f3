import { expect, test } from '@jest/globals';
import { newGuest } from '../support/guests.ts';
import { createLoginApp, demoSettings } from '../support/login-app.ts';
import { deviceIdsOf, newPerson, newPhone, subOf } from '../support/people.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();
const { operate } = service;

const merge = (kept: string, givenUp: string, reason: string | undefined = 'ticket-7') =>
  operate('login-users', 'merge', { 'login-user': kept, 'given-up': givenUp, reason });

test('login-users merge makes one of two; show and find follow, export has what came', async () => {
  const [kept, gone] = [await newPerson(service), await newPerson(service)];
  const linked = unique('linked');
  await gone.account.linkAt('provider_a', linked);
  const phone = await newPhone(service);
  await service.relate(phone, gone.token);
  expect(await merge(kept.loginUserId, gone.loginUserId)).toMatchObject({
    login_user_id: kept.loginUserId,
    merged_from: gone.loginUserId,
    identities: 2,
    identities_lost: 0,
    devices: 1,
    sessions_ended: 1,
    merged: true,
  });
  const asGone = { 'login-user': gone.loginUserId };
  expect(await operate('login-users', 'show', asGone)).toMatchObject({
    asked_for: gone.loginUserId,
    merged_into: kept.loginUserId,
    login_user_id: kept.loginUserId,
  });
  const found = { 'login-app': service.demo.login_app.login_app_id, provider: 'provider_a' };
  expect(await operate('login-users', 'find', { ...found, subject: linked })).toMatchObject({
    login_user_id: kept.loginUserId,
  });
  const exported = await operate('login-users', 'export', { 'login-user': kept.loginUserId });
  expect(exported.identities).toHaveLength(3);
  expect(exported.devices).toMatchObject([{ device_id: phone }]);
  await expect(operate('login-users', 'export', asGone)).rejects.toThrow(
    `The Login User was merged into ${kept.loginUserId}: name that one.`,
  );
  expect(subOf(await service.logIn(gone.subject))).toBe(kept.loginUserId);
});

test('the devices end with the latest session of the one who is kept, and at once if there is none', async () => {
  const [kept, gone] = [await newPerson(service), await newPerson(service)];
  const phone = await newPhone(service);
  await service.relate(phone, gone.token);
  await merge(kept.loginUserId, gone.loginUserId);
  expect(await deviceIdsOf(service, kept)).toEqual([phone]);
  const other = await newPerson(service, kept.subject);
  await kept.account.endSession(kept.sessionId);
  expect(await deviceIdsOf(service, other)).toEqual([]);
});

test('again, it finishes what is left, and changes nothing else', async () => {
  const [kept, gone] = [await newPerson(service), await newPerson(service)];
  await merge(kept.loginUserId, gone.loginUserId);
  expect(await merge(kept.loginUserId, gone.loginUserId)).toMatchObject({
    merged_from: gone.loginUserId,
    identities: 0,
  });
});

test('a guest who is given up keeps the session for ten minutes', async () => {
  const [kept, guest] = [await newPerson(service), await newGuest(service)];
  await merge(kept.loginUserId, guest.loginUserId);
  expect((await guest.account.show()).body.merged_into).toBe(kept.loginUserId);
});

test('a reason is needed', async () => {
  const [kept, gone] = [await newPerson(service), await newPerson(service)];
  const flags = { 'login-user': kept.loginUserId, 'given-up': gone.loginUserId };
  await expect(operate('login-users', 'merge', flags)).rejects.toThrow('--reason is missing');
});

test('what cannot be merged stays as it is', async () => {
  const app = await createLoginApp(service, 'Other', { platforms: [] });
  await service.setProvider(app, 'provider_f', await demoSettings(service, 'provider_f'));
  const [here, there] = [await newPerson(service), await newPerson(service, unique('there'), app)];
  const deleted = await newPerson(service);
  await deleted.account.remove();
  for (const [id, problem] of [
    [here.loginUserId, 'Both are the same Login User.'],
    [there.loginUserId, 'There is no such Login User of this Login App.'],
    [deleted.loginUserId, 'There is no such Login User.'],
    [`lu_${'A'.repeat(43)}`, 'There is no such Login User.'],
  ] as const) {
    await expect(merge(here.loginUserId, id)).rejects.toThrow(problem);
    if (id !== here.loginUserId) await expect(merge(id, here.loginUserId)).rejects.toThrow(problem);
  }
  expect((await here.account.show()).status).toBe(200);
  expect((await there.account.show()).status).toBe(200);
});
