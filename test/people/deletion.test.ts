import { describe, expect, test } from '@jest/globals';
import { expectError } from '../support/expectations.ts';
import { deviceIdsOf, newPerson, newPhone } from '../support/people.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();
const ended = { status: 401, error: 'invalid_token', naming: /session.*ended/ };

describe('DELETE /v2/marketing/login/user', () => {
  test('204: no token works any longer; identities are free, the phone is nobody’s, and operators find nobody', async () => {
    const phone = await newPerson(service);
    const tablet = await newPerson(service, phone.subject);
    const device = await newPhone(service);
    const linked = unique('linked');
    await service.relate(device, phone.token);
    await phone.account.linkAt('provider_a', linked);
    expect((await phone.account.remove()).status).toBe(204);
    expectError(await phone.account.remove(), ended);
    for (const { account, token, refreshToken } of [phone, tablet]) {
      expectError(await account.show(), ended);
      expectError(await service.listDevices(token), ended);
      expectError(await service.refresh(refreshToken), { status: 400, error: 'invalid_grant' });
      expect((await service.introspect(token)).body).toEqual({ active: false });
    }
    const flags = { 'login-user': phone.loginUserId };
    expect((await service.operate('devices', 'list', flags)).devices).toEqual([]);
    const noSuch = 'There is no such Login User.';
    for (const verb of ['show', 'logout', 'block', 'unblock', 'delete'])
      await expect(service.operate('login-users', verb, flags)).rejects.toThrow(noSuch);
    const next = await newPerson(service);
    expect((await next.account.linkAt('provider_a', linked)).status).toBe(201);
    expect((await next.account.linkAt('provider_f', phone.subject)).status).toBe(201);
  });

  test('they come back as a new Login User with a new id and no phone, again and again', async () => {
    const subject = unique('alice');
    const ids = [];
    const phone = await newPhone(service);
    for (let time = 0; time < 4; time += 1) {
      const person = await newPerson(service, subject);
      ids.push(person.loginUserId);
      expect((await newPerson(service, subject)).loginUserId).toBe(person.loginUserId);
      expect((await person.account.show()).body.identities).toHaveLength(1);
      expect((await person.account.sessions()).body.sessions).toHaveLength(2);
      expect(await deviceIdsOf(service, person)).toEqual([]);
      await service.relate(phone, person.token);
      expect((await person.account.remove()).status).toBe(204);
    }
    expect(new Set(ids).size).toBe(4);
  });
});

test('a blocked person gets the same sentence everywhere, with one code for each situation', async () => {
  const { account, subject, token, refreshToken, loginUserId } = await newPerson(service);
  const phone = await newPhone(service);
  const linked = unique('linked');
  await account.linkAt('provider_a', linked);
  await service.operate('login-users', 'block', { 'login-user': loginUserId });
  const naming = 'The Login User is blocked.';
  const noToken = { status: 400, error: 'invalid_grant', naming };
  expectError(await service.logIn(subject), noToken);
  expectError(await service.logIn(linked, 'provider_a'), noToken);
  expectError(await service.refresh(refreshToken), { ...noToken, error: 'unauthorized_client' });
  const forbidden = { status: 403, error: 'forbidden', naming };
  for (const answer of [
    await account.show(),
    await account.remove(),
    await account.sessions(),
    await account.endSessions(),
    await account.endSession('x'),
    await account.linkAt('provider_a', unique('bob')),
    await account.unlink('x'),
    await service.listDevices(token),
    await service.endRelation(phone, token),
  ])
    expectError(answer, forbidden);
  for (const id of [phone, `d_${'A'.repeat(43)}`]) {
    const relation = await service.relate(id, token);
    expectError(relation, {
      status: 422,
      error: 'unprocessable_entity',
      naming,
      fields: ['device_id'],
    });
    expect(relation.body.errors).toEqual([{ field: 'device_id', message: naming }]);
  }
  await service.operate('login-users', 'unblock', { 'login-user': loginUserId });
  expect((await service.refresh(refreshToken)).status).toBe(200);
  expect((await service.relate(phone, token)).status).toBe(200);
});

test('a person whom the operator deletes although blocked is a new one, who is not blocked', async () => {
  const { loginUserId, subject } = await newPerson(service);
  const flags = { 'login-user': loginUserId };
  await service.operate('login-users', 'block', flags);
  expect(await service.operate('login-users', 'delete', flags)).toMatchObject({ deleted: true });
  expect((await newPerson(service, subject)).loginUserId).not.toBe(loginUserId);
});
