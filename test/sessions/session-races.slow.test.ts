import { expect, test } from '@jest/globals';
import { expectError } from '../support/expectations.ts';
import { accountOf, newPerson, type Person } from '../support/people.ts';
import { type Actors, racesAt } from '../support/races.ts';
import type { Answer } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';

const { service, proxy } = await sharedServiceWithStore();
const { overtaken, lostAndOvertaken } = racesAt(proxy);

const refresh = ({ refreshToken }: Person) => service.refresh(refreshToken);

const notValid = {
  status: 400,
  error: 'invalid_grant',
  naming: 'The refresh token is not valid for this client.',
};

test('a logout before the write of a refresh: no token, and the session stays ended', async () => {
  const person = await newPerson(service);
  const [answer] = await overtaken(
    0,
    () => refresh(person),
    () => person.account.endSession(person.sessionId),
  );
  expectError(answer, notValid);
  expect((await person.account.show()).status).toBe(401);
});

test('a logout of all before the write of a refresh: what the refresh gets is worth nothing', async () => {
  const person = await newPerson(service);
  const [{ body }] = await overtaken(0, () => refresh(person), person.account.endSessions);
  expect((await accountOf(service, body.access_token).show()).status).toBe(401);
  expectError(await refresh({ ...person, refreshToken: body.refresh_token }), notValid);
});

test.each<[string, (...actors: Actors<Answer, Answer>) => Promise<[Answer, Answer]>]>([
  ['loses the answer of the store', lostAndOvertaken],
  ['has read the session', (...actors) => overtaken(0, ...actors)],
])('a refresh that %s, while the app refreshes twice: the session goes on', async (_, overtake) => {
  const person = await newPerson(service);
  const [late, latest] = await overtake(
    () => refresh(person),
    async () => service.refresh((await refresh(person)).body.refresh_token),
  );
  expect([latest.status, late.status]).toEqual([200, 200]);
  expect(late.body.refresh_token).toBe(latest.body.refresh_token);
  expect((await service.refresh(latest.body.refresh_token)).status).toBe(200);
  expectError(await refresh(person), notValid);
});

test.each<[string, (person: Person) => Promise<unknown>]>([
  ['DELETE user/sessions', ({ token }) => accountOf(service, token).endSessions()],
  [
    'login-users logout',
    ({ loginUserId }) => service.operate('login-users', 'logout', { 'login-user': loginUserId }),
  ],
])('%s whose answer is lost spares a login that follows', async (_, logOut) => {
  const person = await newPerson(service);
  const [, next] = await lostAndOvertaken(
    () => logOut(person),
    () => newPerson(service, person.subject),
  );
  const shown = [person, next].map(
    async ({ token }) => (await accountOf(service, token).show()).status,
  );
  expect(await Promise.all(shown)).toEqual([401, 200]);
});

test('a logout of all that is sent again takes nothing back of a later one', async () => {
  const person = await newPerson(service);
  const [loggedOut, next] = await lostAndOvertaken(
    () => person.account.endSessions(),
    async () => {
      const { account } = await newPerson(service, person.subject);
      await account.endSessions();
      return account;
    },
  );
  expect(loggedOut.status).toBe(204);
  expect((await next.show()).status).toBe(401);
});
