import { describe, expect, test } from '@jest/globals';
import { expectError } from '../support/expectations.ts';
import { accountOf, deviceIdsOf, newAccount, newPerson, newPhone } from '../support/people.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();
const ended = { status: 401, error: 'invalid_token', naming: /session.*ended/ };

describe('DELETE /v2/marketing/login/user', () => {
  test('204: no token works any longer, and a second call is 401', async () => {
    const phone = await newPerson(service);
    const tablet = await newPerson(service, phone.subject);
    const account = accountOf(service, phone.token);
    expect((await account.remove()).status).toBe(204);
    expectError(await account.remove(), ended);
    for (const { token, refreshToken } of [phone, tablet]) {
      expectError(await accountOf(service, token).show(), ended);
      expectError(await service.listDevices(token), ended);
      expectError(await service.refresh(refreshToken), { status: 400, error: 'invalid_grant' });
      expect((await service.introspect(token)).body).toEqual({ active: false });
    }
  });

  test('they come back as a new Login User with a new id, again and again', async () => {
    const subject = unique('alice');
    const ids = [];
    for (let time = 0; time < 4; time += 1) {
      const person = await newPerson(service, subject);
      ids.push(person.loginUserId);
      const again = await newPerson(service, subject);
      expect(again.loginUserId).toBe(person.loginUserId);
      const { body } = await accountOf(service, person.token).show();
      expect(body.identities).toHaveLength(1);
      expect((await accountOf(service, person.token).sessions()).body.sessions).toHaveLength(2);
      expect((await accountOf(service, person.token).remove()).status).toBe(204);
    }
    expect(new Set(ids).size).toBe(4);
  });

  test('their linked identities are free for anybody', async () => {
    const person = await newPerson(service);
    const account = accountOf(service, person.token);
    const linked = unique('linked');
    await account.linkAt('provider_a', linked);
    await account.remove();
    const next = accountOf(service, (await newPerson(service)).token);
    expect((await next.linkAt('provider_a', linked)).status).toBe(201);
    expect((await next.linkAt('provider_f', person.subject)).status).toBe(201);
  });

  test("their phone is nobody's, also when they come back", async () => {
    const person = await newPerson(service);
    const phone = await newPhone(service);
    await service.relate(phone, person.token);
    await accountOf(service, person.token).remove();
    const again = await newPerson(service, person.subject);
    expect(await deviceIdsOf(service, again)).toEqual([]);
    const flags = { 'login-user': person.loginUserId };
    expect((await service.operate('devices', 'list', flags)).devices).toEqual([]);
  });

  test('for the operator there is no such Login User', async () => {
    const person = await newPerson(service);
    await accountOf(service, person.token).remove();
    const flags = { 'login-user': person.loginUserId };
    for (const verb of ['show', 'logout', 'block', 'unblock', 'delete']) {
      await expect(service.operate('login-users', verb, flags)).rejects.toThrow(
        'There is no such Login User.',
      );
    }
  });
});

test('a person whom the operator deletes although blocked is a new one, who is not blocked', async () => {
  const person = await newPerson(service);
  const flags = { 'login-user': person.loginUserId };
  await service.operate('login-users', 'block', flags);
  expect(await service.operate('login-users', 'delete', flags)).toMatchObject({ deleted: true });
  const again = await newPerson(service, person.subject);
  expect(again.loginUserId).not.toBe(person.loginUserId);
});

test('a blocked person gets the same sentence everywhere, with one code for each situation', async () => {
  const { account, subject, token, refreshToken, loginUserId } = await newAccount(service);
  const [phone, linked] = [await newPhone(service), unique('linked')];
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
    expectError(relation, { status: 422, error: 'unprocessable_entity', naming, fields: ['device_id'] });
    expect(relation.body.errors).toEqual([{ field: 'device_id', message: naming }]);
  }
  await service.operate('login-users', 'unblock', { 'login-user': loginUserId });
  expect((await service.refresh(refreshToken)).status).toBe(200);
  expect((await service.relate(phone, token)).status).toBe(200);
});
