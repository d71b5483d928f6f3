import { describe, expect, test } from '@jest/globals';
import { accountOf, identityIdsOf, newAccount, ownersOf, subOf } from '../support/account.ts';
import { newPerson, newPhone, type Person } from '../support/people.ts';
import { unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import { type Fault, isWrite } from '../support/store-proxy.ts';

const { service, proxy } = await startServiceWithStore();

/** Lets one write of a request fail, before or after it is done, as when the function dies there. False when it makes fewer. */
async function dying(place: number, fault: Fault, request: () => Promise<unknown>): Promise<boolean> {
  let seen = 0;
  proxy.hook = (call) => (isWrite(call) && seen++ === place ? fault : undefined);
  try {
    await request();
    return seen > place;
  } finally {
    proxy.hook = () => undefined;
  }
}

describe('a function that dies at any write', () => {
  const faults: Fault[] = ['fails before', 'fails after'];
  const everyCrash = (most: number): [Fault, number][] =>
    faults.flatMap((fault) => Array.from({ length: most }, (_, place): [Fault, number] => [fault, place]));

  test.each(everyCrash(2))(
    'a link that %s at write %i: nobody or one has the identity, and it can be linked',
    async (fault, place) => {
      const [alice, bob] = [await newAccount(service), await newAccount(service)];
      const subject = unique('other');
      expect(await dying(place, fault, () => alice.account.linkAt('provider_a', subject))).toBe(true);
      const isTaken = (await ownersOf([alice.account], 'provider_a')).length === 1;
      expect((await bob.account.linkAt('provider_a', subject)).status).toBe(isTaken ? 409 : 201);
      const owner = isTaken ? alice : bob;
      expect(await ownersOf([alice.account, bob.account], 'provider_a')).toEqual([owner.loginUserId]);
      expect(subOf(await service.logIn(subject, 'provider_a'))).toBe(owner.loginUserId);
      expect((await owner.account.linkAt('provider_a', subject)).status).toBe(200);
      const { body } = await alice.account.show();
      expect(body.identities).toHaveLength(isTaken ? 2 : 1);
    },
  );

  test.each(everyCrash(2))(
    'a link that %s at write %i: a login with the identity agrees with what is shown',
    async (fault, place) => {
      const { account, loginUserId } = await newAccount(service);
      const subject = unique('other');
      await dying(place, fault, () => account.linkAt('provider_a', subject));
      const isTheirs = (await ownersOf([account], 'provider_a')).length === 1;
      expect(subOf(await service.logIn(subject, 'provider_a')) === loginUserId).toBe(isTheirs);
    },
  );

  test.each(everyCrash(2))(
    'a link that %s at write %i can be repeated: then it is theirs, once',
    async (fault, place) => {
      const { account, loginUserId } = await newAccount(service);
      const subject = unique('other');
      await dying(place, fault, () => account.linkAt('provider_a', subject));
      const isTheirs = identityIdsOf(await account.show()).length === 2;
      expect((await account.linkAt('provider_a', subject)).status).toBe(isTheirs ? 200 : 201);
      const [, id = ''] = identityIdsOf(await account.show());
      expect(identityIdsOf(await account.show())).toHaveLength(2);
      expect(subOf(await service.logIn(subject, 'provider_a'))).toBe(loginUserId);
      expect((await account.unlink(id)).status).toBe(204);
      expect(subOf(await service.logIn(subject, 'provider_a'))).not.toBe(loginUserId);
    },
  );

  test.each(everyCrash(2))('an unlinking that %s at write %i: theirs or free', async (fault, place) => {
    const { account, loginUserId } = await newAccount(service);
    const subject = unique('other');
    const { id } = (await account.linkAt('provider_a', subject)).body;
    expect(await dying(place, fault, () => account.unlink(id))).toBe(true);
    const isTheirs = identityIdsOf(await account.show()).includes(id);
    expect(subOf(await service.logIn(subject, 'provider_a')) === loginUserId).toBe(isTheirs);
    expect((await account.unlink(id)).status).toBe(isTheirs ? 204 : 404);
  });

  test.each([1, 2, 3])(
    'a logout everywhere that fails before write %i: its own session is there to repeat it',
    async (place) => {
      const person = await newAccount(service);
      const others = [1, 2, 3].map(() => newPerson(service, person.subject));
      const accounts = (await Promise.all(others)).map(({ token }) => accountOf(service, token));
      expect(await dying(place, 'fails before', () => person.account.endSessions())).toBe(true);
      expect((await person.account.endSessions()).status).toBe(204);
      for (const account of [person.account, ...accounts]) expect((await account.show()).status).toBe(401);
    },
  );

  /** A person with two sessions, a linked identity and a phone. */
  const newOwner = async () => {
    const person = await newAccount(service);
    const tablet = await newPerson(service, person.subject);
    const linked = unique('linked');
    await person.account.linkAt('provider_a', linked);
    await service.relate(await newPhone(service, await service.loginAppToken()), person.token);
    return { ...person, tablet, linked };
  };
  const flagsOf = ({ loginUserId }: Person) => ({ 'login-user': loginUserId });

  test.each(everyCrash(6))(
    'a deletion that %s at write %i: nobody else stays in, and the next attempt finishes it',
    async (fault, place) => {
      const person = await newOwner();
      const { account, tablet, linked } = person;
      expect(await dying(place, fault, () => account.remove())).toBe(true);
      const hasBegun = place > 0 || fault === 'fails after';
      expect((await accountOf(service, tablet.token).show()).status).toBe(hasBegun ? 401 : 200);
      const again = await account.remove();
      expect(again.status).toBe(place === 5 && fault === 'fails after' ? 401 : 204);
      expect((await account.remove()).status).toBe(401);
      await expect(service.operate('login-users', 'delete', flagsOf(person))).rejects.toThrow(
        'There is no such',
      );
      expect(subOf(await service.logIn(linked, 'provider_a'))).not.toBe(person.loginUserId);
      expect((await newPerson(service, person.subject)).loginUserId).not.toBe(person.loginUserId);
    },
  );

  test.each(everyCrash(5))(
    'a deletion that %s at write %i: the operator finishes it',
    async (fault, place) => {
      const person = await newOwner();
      await dying(place, fault, () => person.account.remove());
      expect(await service.operate('login-users', 'delete', flagsOf(person))).toMatchObject({
        deleted: true,
      });
      await expect(service.operate('login-users', 'delete', flagsOf(person))).rejects.toThrow(
        'There is no such',
      );
      expect((await person.account.remove()).status).toBe(401);
    },
  );
});
