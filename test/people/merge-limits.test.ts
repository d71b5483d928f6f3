import { describe, expect, test } from '@jest/globals';
import { expectError } from '../support/expectations.ts';
import { merge, newPair } from '../support/merges.ts';
import { deviceIdsOf, newPerson, newPhone, subOf } from '../support/people.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();

const demoApp = service.demo.login_app.login_app_id;
const issuer = `${service.demo.sandbox_url}/provider_f`;

/** Imports a person, whose external id is the subject. */
async function importPerson(subject = unique('imported')) {
  const line = { provider: 'provider_f', issuer, subject, external_id: subject };
  await service.operate('login-users', 'import', {
    'login-app': demoApp,
    people: [{ line: 1, text: JSON.stringify(line), repetition: 0 }],
  });
  return newPerson(service, subject);
}

describe('more than the most', () => {
  test('identities: those that nobody used for the longest time go, but never the proven one', async () => {
    const mine = await newPerson(service);
    for (let count = 0; count < 19; count += 1)
      await mine.account.linkAt('provider_a', unique('mine'));
    const theirs = await newPerson(service);
    const used = unique('used');
    await theirs.account.linkAt('provider_a', used);
    await service.logIn(used, 'provider_a');
    const { body } = await merge(service, mine, 'mine', theirs.subject);
    expect(body).toMatchObject({
      moved: { identities: 1 },
      lost: { identities: 1 },
      merged_from: theirs.loginUserId,
    });
    expect(body.identities).toHaveLength(21);
    expect(subOf(await service.logIn(theirs.subject))).toBe(mine.loginUserId);
    const newcomer = subOf(await service.logIn(used, 'provider_a'));
    expect([mine.loginUserId, theirs.loginUserId]).not.toContain(newcomer);
    expect(subOf(await service.logIn(used, 'provider_a'))).toBe(newcomer);
  });

  test('devices: those that were seen least recently go', async () => {
    const { mine, theirs } = await newPair(service);
    const phones: string[] = [];
    for (let count = 0; count < 22; count += 1) {
      const phone = await newPhone(service);
      await service.relate(phone, count < 11 ? mine.token : theirs.token);
      phones.push(phone);
    }
    const { body } = await merge(service, mine, 'mine', theirs.subject);
    expect(body.moved.devices).toBe(11);
    expect(body.lost.devices).toBe(2);
    expect((await deviceIdsOf(service, mine)).toSorted()).toEqual(phones.slice(2).toSorted());
  });
});

test('merges in a row: 20 at most lead to somebody, and more to the one who ends them', async () => {
  const first = await newPerson(service);
  let last = first;
  for (let count = 0; count < 20; count += 1) {
    const next = await newPerson(service);
    expect((await merge(service, next, 'mine', last.subject)).status).toBe(200);
    last = next;
  }
  const { body } = await service.introspect(first.token);
  expect(body).toEqual({ active: false, merged_into: last.loginUserId });

  const other = await newPerson(service);
  const refused = { status: 409, error: 'conflict', naming: /20 merges in a row.*keep that one/ };
  expectError(await merge(service, other, 'mine', last.subject), refused);
  expectError(await merge(service, last, 'theirs', other.subject), refused);
  const flags = { 'login-user': other.loginUserId, 'given-up': last.loginUserId, reason: 'x' };
  await expect(service.operate('login-users', 'merge', flags)).rejects.toThrow('keep that one');
  expect((await merge(service, other, 'theirs', last.subject)).status).toBe(200);
  expect((await service.introspect(other.token)).body.merged_into).toBe(last.loginUserId);
});

describe('external ids', () => {
  test('comes along if the one who is kept has none', async () => {
    const imported = await importPerson();
    const person = await newPerson(service);
    const { body } = await merge(service, person, 'mine', imported.subject);
    expect(body.external_id).toBe(imported.subject);
    const flags = { 'login-app': demoApp, 'external-id': imported.subject };
    expect(await service.operate('login-users', 'find', flags)).toMatchObject({
      login_user_id: person.loginUserId,
    });
  });

  test('stays with the one who is kept', async () => {
    const imported = await importPerson();
    const person = await newPerson(service);
    const { body } = await merge(service, imported, 'mine', person.subject);
    expect(body.external_id).toBe(imported.subject);
  });

  test('two different ones: 409 that names neither', async () => {
    const [one, two] = [await importPerson(), await importPerson()];
    for (const keep of ['mine', 'theirs']) {
      const answer = await merge(service, one, keep, two.subject);
      expectError(answer, { status: 409, error: 'conflict', naming: /different external ids/ });
      expect(answer.text).not.toContain(two.subject);
    }
    expect(subOf(await service.logIn(two.subject))).toBe(two.loginUserId);
  });
});

test('the profile of the one who is kept stays, and that of the other identity comes with it', async () => {
  const { mine, theirs } = await newPair(service);
  const before = (await mine.account.show()).body;
  await merge(service, mine, 'mine', theirs.subject);
  const after = (await mine.account.show()).body;
  expect(after.created_at).toBe(before.created_at);
  expect(after.identities[0]).toEqual(before.identities[0]);
});
