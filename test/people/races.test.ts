import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { accountOf, identityIdsOf } from '../support/account.ts';
import { newPerson, type Person } from '../support/people.ts';
import { type Answer, type Service, unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import type { Fault, StoreCall } from '../support/store-proxy.ts';

const { service, proxy } = await startServiceWithStore();

const newAccount = async () => {
  const person = await newPerson(service);
  return { ...person, account: accountOf(service, person.token) };
};
const writes = ['PutItem', 'UpdateItem', 'DeleteItem'];
const isWrite = ({ operation }: StoreCall): boolean => writes.includes(operation);
const subOf = ({ body }: Answer): string | undefined => decodeJwt(body.access_token).sub;
const refresh = ({ refreshToken }: Person) =>
  service.token({ grant_type: 'refresh_token', refresh_token: refreshToken });

/**
 * Lets a rival act just before one write of a request: the write is held until the rival has been answered.
 * @param place which write, from 0
 */
async function overtaken<Result>(
  place: number,
  request: () => Promise<Result>,
  rival: () => Promise<unknown>,
): Promise<Result> {
  let seen = 0;
  let isActing = false;
  proxy.hook = async (call) => {
    if (isActing || !isWrite(call) || seen++ !== place) return undefined;
    isActing = true;
    await rival();
    return undefined;
  };
  try {
    return await request();
  } finally {
    proxy.hook = () => undefined;
  }
}

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

/** How many accounts of these list an identity of a provider, and as whom a login with it gets in. */
async function ownersOf(accounts: ReturnType<typeof accountOf>[], provider: string) {
  const shown = await Promise.all(accounts.map((account) => account.show()));
  return shown
    .filter(({ body }) => body.identities?.some((one: { provider: string }) => one.provider === provider))
    .map(({ body }) => body.id);
}

describe('the same identity, linked by two people at once, gets one owner', () => {
  test.each([0, 1])('the second comes before write %i of the first', async (place) => {
    const [alice, bob] = [await newAccount(), await newAccount()];
    const subject = unique('shared');
    let second: Answer | undefined;
    const first = await overtaken(
      place,
      () => alice.account.linkAt('provider_a', subject),
      async () => {
        second = await bob.account.linkAt('provider_a', subject);
      },
    );
    expect([first.status, second?.status]).toEqual([409, 201]);
    expect(await ownersOf([alice.account, bob.account], 'provider_a')).toEqual([bob.loginUserId]);
    expect(subOf(await service.logIn(subject, 'provider_a'))).toBe(bob.loginUserId);
  });

  test('eight at once', async () => {
    const people = await Promise.all(Array.from({ length: 8 }, newAccount));
    const subject = unique('shared');
    const answers = await Promise.all(people.map(({ account }) => account.linkAt('provider_a', subject)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, ...Array(7).fill(409)]);
    const accounts = people.map(({ account }) => account);
    expect(await ownersOf(accounts, 'provider_a')).toEqual([
      subOf(await service.logIn(subject, 'provider_a')),
    ]);
  });

  test('one person who links it twice at once has it once', async () => {
    const { account } = await newAccount();
    const subject = unique('shared');
    const answers = await Promise.all([1, 2, 3].map(() => account.linkAt('provider_a', subject)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 201]);
    expect(identityIdsOf(await account.show())).toHaveLength(2);
  });
});

describe('linking while logging in', () => {
  test.each([0, 1])('a login before write %i of the link: a 409, and no link', async (place) => {
    const { account } = await newAccount();
    const subject = unique('shared');
    let login: Answer | undefined;
    const link = await overtaken(
      place,
      () => account.linkAt('provider_a', subject),
      async () => {
        login = await service.logIn(subject, 'provider_a');
      },
    );
    expect([link.status, login?.status]).toEqual([409, 200]);
    expect(identityIdsOf(await account.show())).toHaveLength(1);
    const sub = login && subOf(login);
    expect(subOf(await service.logIn(subject, 'provider_a'))).toBe(sub);
  });

  test("a link before the writes of a login: the login is the linked person's", async () => {
    const { account, loginUserId } = await newAccount();
    const subject = unique('shared');
    const { authorization_code: _, ...credential } = await service.credentials('provider_a', { subject });
    let link: Answer | undefined;
    let held: StoreCall | undefined;
    proxy.hook = async (call) => {
      // The session may be written first: only the write of the Login User decides.
      if (held || call.operation !== 'UpdateItem') return undefined;
      held = call;
      link = await account.link({ provider: 'provider_a', ...credential });
      return undefined;
    };
    const login = await service.logIn(subject, 'provider_a');
    expect([link?.status, login.status]).toEqual([201, 200]);
    expect(subOf(login)).toBe(loginUserId);
    expect((await accountOf(service, login.body.access_token).show()).status).toBe(200);
    expect((await account.sessions()).body.sessions).toHaveLength(2);
  });

  test('an unlinking while the identity logs in: the login is of somebody else, and works', async () => {
    const { account, loginUserId } = await newAccount();
    const subject = unique('shared');
    const { id } = (await account.linkAt('provider_a', subject)).body;
    // Writes of the login: session and slot side by side, the session's removal, then session and Login User.
    const login = await overtaken(
      3,
      () => service.logIn(subject, 'provider_a'),
      () => account.unlink(id),
    );
    expect(login.status).toBe(200);
    const isOld = subOf(login) === loginUserId;
    const next = subOf(await service.logIn(subject, 'provider_a'));
    expect(next).not.toBe(loginUserId);
    if (!isOld) expect(subOf(login)).toBe(next);
  });
});

describe('unlinking both of two identities at once leaves one', () => {
  const twoIdentities = async () => {
    const person = await newAccount();
    await person.account.linkAt('provider_a', unique('other'));
    const [first = '', second = ''] = identityIdsOf(await person.account.show());
    return { ...person, first, second };
  };

  test.each([
    ['the first', (one: string, _: string) => one],
    ['the linked one', (_: string, other: string) => other],
  ])('%s is overtaken', async (_, slow) => {
    const { account, first, second } = await twoIdentities();
    const overtakenOne = slow(first, second);
    const faster = overtakenOne === first ? second : first;
    let rival: Answer | undefined;
    const answer = await overtaken(
      0,
      () => account.unlink(overtakenOne),
      async () => {
        rival = await account.unlink(faster);
      },
    );
    expect([answer.status, rival?.status]).toEqual([422, 204]);
    expect(identityIdsOf(await account.show())).toEqual([overtakenOne]);
  });

  test('in parallel', async () => {
    const { account, first, second } = await twoIdentities();
    const answers = await Promise.all([account.unlink(first), account.unlink(second)]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 422]);
    expect(identityIdsOf(await account.show())).toHaveLength(1);
  });
});

describe('deleting: nobody stays in', () => {
  const expectOut = async (person: Person, tokens: string[]) => {
    for (const token of [person.token, ...tokens]) {
      expect((await accountOf(service, token).show()).status).toBe(401);
    }
    expect((await refresh(person)).body.error).toBe('invalid_grant');
    expect((await newPerson(service, person.subject)).loginUserId).not.toBe(person.loginUserId);
  };
  const tokensOf = (answers: (Answer | undefined)[]): string[] =>
    answers.flatMap((answer) => answer?.body?.access_token ?? []);

  test.each([0, 1, 2, 3])('a refresh and a login before write %i of the deletion', async (place) => {
    const person = await newAccount();
    const others = await newPerson(service, person.subject);
    const answers: Answer[] = [];
    const removed = await overtaken(
      place,
      () => person.account.remove(),
      async () => void answers.push(await refresh(person), await refresh(others)),
    );
    expect(removed.status).toBe(204);
    await expectOut(person, [others.token, ...tokensOf(answers)]);
  });

  test('the deletion before the write of a refresh', async () => {
    const person = await newAccount();
    const answer = await overtaken(0, () => refresh(person), person.account.remove);
    expect(answer.body.error).toBe('invalid_grant');
    await expectOut(person, []);
  });

  test.each([0, 1])(
    'the deletion before write %i of a login: it is of a new Login User, or worth nothing',
    async (place) => {
      const person = await newAccount();
      const login = await overtaken(place, () => service.logIn(person.subject), person.account.remove);
      const { status } = await accountOf(service, login.body.access_token).show();
      expect([status, subOf(login) === person.loginUserId]).not.toEqual([200, true]);
      expect((await newPerson(service, person.subject)).loginUserId).not.toBe(person.loginUserId);
    },
  );

  test.each([0, 1])('the deletion before write %i of a link: the identity is free', async (place) => {
    const person = await newAccount();
    const subject = unique('other');
    await overtaken(place, () => person.account.linkAt('provider_a', subject), person.account.remove);
    const login = await service.logIn(subject, 'provider_a');
    expect(subOf(login)).not.toBe(person.loginUserId);
    expect((await accountOf(service, login.body.access_token).show()).status).toBe(200);
  });
});

describe('a function that dies at any write', () => {
  const faults: Fault[] = ['fails before', 'fails after'];
  const everyCrash = (most: number): [Fault, number][] =>
    faults.flatMap((fault) => Array.from({ length: most }, (_, place): [Fault, number] => [fault, place]));

  test.each(everyCrash(2))(
    'a link that %s at write %i: nobody or one has the identity, and it can be linked',
    async (fault, place) => {
      const [alice, bob] = [await newAccount(), await newAccount()];
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
      const { account, loginUserId } = await newAccount();
      const subject = unique('other');
      await dying(place, fault, () => account.linkAt('provider_a', subject));
      const isTheirs = (await ownersOf([account], 'provider_a')).length === 1;
      expect(subOf(await service.logIn(subject, 'provider_a')) === loginUserId).toBe(isTheirs);
    },
  );

  test.each(everyCrash(2))(
    'a link that %s at write %i can be repeated: then it is theirs, once',
    async (fault, place) => {
      const { account, loginUserId } = await newAccount();
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
    const { account, loginUserId } = await newAccount();
    const subject = unique('other');
    const { id } = (await account.linkAt('provider_a', subject)).body;
    expect(await dying(place, fault, () => account.unlink(id))).toBe(true);
    const isTheirs = identityIdsOf(await account.show()).includes(id);
    expect(subOf(await service.logIn(subject, 'provider_a')) === loginUserId).toBe(isTheirs);
    expect((await account.unlink(id)).status).toBe(isTheirs ? 204 : 404);
  });

  /** A person with two sessions, a linked identity and a phone. */
  const newOwner = async (own: Service) => {
    const person = await newAccount();
    const tablet = await newPerson(own, person.subject);
    const linked = unique('linked');
    await person.account.linkAt('provider_a', linked);
    const phone = { platform: 'android', token: unique('phone') };
    const { id } = (await own.register(phone, await own.loginAppToken())).body;
    await own.relate(id, person.token);
    return { ...person, tablet, linked };
  };
  const flagsOf = ({ loginUserId }: Person) => ({ 'login-user': loginUserId });

  test.each(everyCrash(6))(
    'a deletion that %s at write %i: nobody else stays in, and the next attempt finishes it',
    async (fault, place) => {
      const person = await newOwner(service);
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
      const person = await newOwner(service);
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
