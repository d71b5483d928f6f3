import { expect, test } from '@jest/globals';
import { expectError } from '../support/expectations.ts';
import { newPerson, newPhone } from '../support/people.ts';
import { sharedService } from '../support/service.ts';

const service = sharedService();

test('a blocked person gets the same sentence everywhere, with one code for each situation', async () => {
  const person = await newPerson(service);
  const phone = await newPhone(service);
  await service.operate('login-users', 'block', { 'login-user': person.loginUserId });
  const naming = 'The Login User is blocked.';
  const { token, refreshToken } = person;

  const noToken = { status: 400, error: 'invalid_grant', naming };
  expectError(await service.logIn(person.subject), noToken);
  const form = { grant_type: 'refresh_token', refresh_token: refreshToken };
  expectError(await service.token(form), { ...noToken, error: 'unauthorized_client' });

  const noDevices = { status: 403, error: 'forbidden', naming };
  expectError(await service.listDevices(token), noDevices);
  expectError(await service.endRelation(phone, token), noDevices);

  const relation = await service.relate(phone, token);
  expectError(relation, { status: 422, error: 'unprocessable_entity', naming, fields: ['device_id'] });
  expect(relation.body.errors).toEqual([{ field: 'device_id', message: naming }]);

  await service.operate('login-users', 'unblock', { 'login-user': person.loginUserId });
  expect((await service.token(form)).status).toBe(200);
});
