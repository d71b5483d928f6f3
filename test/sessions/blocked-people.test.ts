import { expect, test } from '@jest/globals';
import { expectRefusal } from '../support/expectations.ts';
import { newPerson, newPhone } from '../support/people.ts';
import { sharedService } from '../support/service.ts';

const service = sharedService();

test('a blocked person gets the same sentence everywhere, with one code for each situation', async () => {
  const person = await newPerson(service);
  const phone = await newPhone(service, await service.loginAppToken());
  await service.operate('login-users', 'block', { 'login-user': person.loginUserId });
  const naming = 'The Login User is blocked.';
  const { token, refreshToken } = person;

  const noToken = { status: 400, error: 'invalid_grant', naming };
  expectRefusal(await service.logIn(person.subject), noToken);
  const form = { grant_type: 'refresh_token', refresh_token: refreshToken };
  expectRefusal(await service.token(form), noToken);

  const noDevices = { status: 403, error: 'forbidden', naming };
  expectRefusal(await service.listDevices(token), noDevices);
  expectRefusal(await service.endRelation(phone, token), noDevices);

  const relation = await service.relate(phone, token);
  expectRefusal(relation, { status: 422, error: 'unprocessable_entity', naming, fields: ['device_id'] });
  expect(relation.body.errors).toEqual([{ field: 'device_id', message: naming }]);
});
