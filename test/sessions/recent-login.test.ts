import { expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { expectError } from '../support/expectations.ts';
import { accountOf, deviceIdsOf, identityIdsOf, newPerson, newPhone } from '../support/people.ts';
import { asPhone } from '../support/phone.ts';
import { type Service, unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';

const { running, service } = await sharedServiceWithStore();

const insufficient = (seconds: number) => ({
  status: 401,
  error: 'insufficient_user_authentication',
  naming: new RegExp(`at most ${seconds} seconds ago`),
});

test.each<[string, Service]>([
  ['a confidential client', service],
  ['a phone', await asPhone(service)],
])(
  '%s: a login of more than 15 minutes ago does not link, unlink or delete, even refreshed; a new one does',
  async (_, service) => {
    const { account, refreshToken, subject, token } = await newPerson(service);
    const other = unique('bob');
    const { id } = (await account.linkAt('provider_a', other)).body;
    running.advance(901);
    const refreshed = (await service.refresh(refreshToken)).body;
    expect(decodeJwt(refreshed.access_token).auth_time).toBe(decodeJwt(token).auth_time);
    for (const old of [account, accountOf(service, refreshed.access_token)]) {
      const answers = [
        await old.linkAt('provider_a', unique('thief')),
        await old.unlink(id),
        await old.remove(),
      ];
      for (const answer of answers) {
        expectError(answer, insufficient(900));
        expect(answer.headers.get('www-authenticate')).toMatch(/, max_age=900$/);
      }
      expect(identityIdsOf(await old.show())).toHaveLength(2);
    }
    const again = accountOf(service, (await service.logIn(subject)).body.access_token);
    expect((await again.unlink(id)).status).toBe(204);
    expect((await again.linkAt('provider_a', other)).status).toBe(201);
    expect((await again.remove()).status).toBe(204);
  },
);

test('a login of more than 15 minutes ago relates up to 20 devices; the 21st, which ends a relation, needs a new one', async () => {
  const person = await newPerson(service);
  const phones: string[] = [];
  const relate = (id = '', { token } = person) => service.relate(id, token);
  const appToken = await service.loginAppToken();
  for (let made = 0; made < 21; made += 1) phones.push(await newPhone(service, appToken));
  const [first, ...others] = phones;
  const [last, ...further] = others.toReversed();
  await relate(first);
  running.advance(901);
  for (const id of further) expect((await relate(id)).status).toBe(200);
  const refused = await relate(last);
  expectError(refused, insufficient(900));
  expect(refused.headers.get('www-authenticate')).toMatch(/, max_age=900$/);
  expect((await deviceIdsOf(service, person)).toSorted()).toEqual([first, ...further].toSorted());
  expect((await relate(first)).status).toBe(200);
  expect((await relate(last, await newPerson(service, person.subject))).status).toBe(200);
  expect((await deviceIdsOf(service, person)).toSorted()).toEqual([...others].toSorted());
});
