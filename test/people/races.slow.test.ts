import { DynamoDBDocumentClient, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, test } from '@jest/globals';
import { loginUserKey } from '../../lib/storage/keys.ts';
import { expectError } from '../support/expectations.ts';
import { itemsAbout } from '../support/items-about.ts';
import {
  accountOf,
  identityIdsOf,
  newPerson,
  newPhone,
  ownersOf,
  type Person,
  subOf,
} from '../support/people.ts';
import { racesAt } from '../support/races.ts';
import { type Answer, unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import { isWrite, type StoreAnswer, type StoreCall } from '../support/store-proxy.ts';

const { service, proxy, dynamoDb, tableName } = await startServiceWithStore();
const { overtaken } = racesAt(proxy);

const refresh = ({ refreshToken }: Person) => service.refresh(refreshToken);

describe('the same identity, linked by two people at once, gets one owner', () => {
  test('the second comes before the write of the first', async () => {
    const [alice, bob] = [await newPerson(service), await newPerson(service)];
    const subject = unique('shared');
    const [first, second] = await overtaken(
      0,
      () => alice.account.linkAt('provider_a', subject),
      () => bob.account.linkAt('provider_a', subject),
    );
    expect([first.status, second.status]).toEqual([409, 201]);
    expect(await ownersOf([alice.account, bob.account], 'provider_a')).toEqual([bob.loginUserId]);
    expect(subOf(await service.logIn(subject, 'provider_a'))).toBe(bob.loginUserId);
  });

  test('twenty at once', async () => {
    const people = await Promise.all(Array.from({ length: 20 }, () => newPerson(service)));
    const subject = unique('shared');
    const answers = await Promise.all(
      people.map(({ account }) => account.linkAt('provider_a', subject)),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, ...Array(19).fill(409)]);
    const owners = await ownersOf(
      people.map(({ account }) => account),
      'provider_a',
    );
    expect(owners).toEqual([subOf(await service.logIn(subject, 'provider_a'))]);
  });

  test('one person who links it twice at once has it once', async () => {
    const { account } = await newPerson(service);
    const subject = unique('shared');
    const links = Array.from({ length: 20 }, () => account.linkAt('provider_a', subject));
    const answers = await Promise.all(links);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([...Array(19).fill(200), 201]);
    expect(identityIdsOf(await account.show())).toHaveLength(2);
  });
});

describe('linking while logging in', () => {
  test('a login before the write of the link: a 409, and no link', async () => {
    const { account } = await newPerson(service);
    const subject = unique('shared');
    const [link, login] = await overtaken(
      0,
      () => account.linkAt('provider_a', subject),
      () => service.logIn(subject, 'provider_a'),
    );
    expect([link.status, login.status]).toEqual([409, 200]);
    expect(identityIdsOf(await account.show())).toHaveLength(1);
    expect(subOf(await service.logIn(subject, 'provider_a'))).toBe(subOf(login));
  });

  test("a link before the writes of a login: the login is the linked person's", async () => {
    const { account, loginUserId } = await newPerson(service);
    const subject = unique('shared');
    const { authorization_code: _, ...credential } = await service.credentials('provider_a', {
      subject,
    });
    const [login, link] = await overtaken(
      0,
      () => service.logIn(subject, 'provider_a'),
      () => account.link({ provider: 'provider_a', ...credential }),
    );
    expect([link.status, login.status]).toEqual([201, 200]);
    expect(subOf(login)).toBe(loginUserId);
    expect((await accountOf(service, login.body.access_token).show()).status).toBe(200);
    expect((await account.sessions()).body.sessions).toHaveLength(2);
  });

  test('an unlinking while the identity logs in: the login is of somebody else, and works', async () => {
    const { account, loginUserId } = await newPerson(service);
    const subject = unique('shared');
    const { id } = (await account.linkAt('provider_a', subject)).body;
    // Writes of the login: the slot in vain, the Login User, the session.
    const [login] = await overtaken(
      1,
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
    const person = await newPerson(service);
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
    const [answer, rival] = await overtaken(
      0,
      () => account.unlink(overtakenOne),
      () => account.unlink(faster),
    );
    expect([answer.status, rival.status]).toEqual([422, 204]);
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
  const tokensOf = (answers: Answer[]): string[] =>
    answers.flatMap(({ body }) => body?.access_token ?? []);

  test.each([0, 1, 2])('a refresh and a login before write %i of the deletion', async (place) => {
    const person = await newPerson(service);
    const others = await newPerson(service, person.subject);
    const [removed, answers] = await overtaken(
      place,
      () => person.account.remove(),
      async () => [await refresh(person), await refresh(others)],
    );
    expect(removed.status).toBe(204);
    await expectOut(person, [others.token, ...tokensOf(answers)]);
  });

  test('the deletion before the write of a refresh', async () => {
    const person = await newPerson(service);
    const [answer] = await overtaken(0, () => refresh(person), person.account.remove);
    expect(answer.body.error).toBe('invalid_grant');
    await expectOut(person, []);
  });

  test.each([0, 1])(
    'the deletion before write %i of a login: a new person, or nothing',
    async (place) => {
      const person = await newPerson(service);
      const [login] = await overtaken(
        place,
        () => service.logIn(person.subject),
        person.account.remove,
      );
      const { status } = await accountOf(service, login.body.access_token).show();
      expect([status, subOf(login) === person.loginUserId]).not.toEqual([200, true]);
      expect((await newPerson(service, person.subject)).loginUserId).not.toBe(person.loginUserId);
    },
  );

  test('the deletion before the write of a link: the identity is free', async () => {
    const person = await newPerson(service);
    const subject = unique('other');
    await overtaken(0, () => person.account.linkAt('provider_a', subject), person.account.remove);
    const login = await service.logIn(subject, 'provider_a');
    expect(subOf(login)).not.toBe(person.loginUserId);
    expect((await accountOf(service, login.body.access_token).show()).status).toBe(200);
  });

  test("a device that another session relates anew meanwhile is nobody's", async () => {
    const person = await newPerson(service);
    const other = await newPerson(service, person.subject);
    const phone = await newPhone(service);
    await service.relate(phone, person.token);
    const [arrived, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let relation: Promise<Answer> | undefined;
    const hook = async ({ operation, body }: StoreCall) => {
      if (operation !== 'UpdateItem' || !JSON.stringify(body.Key).includes(phone)) return undefined;
      const isEnd = !JSON.stringify(body.ExpressionAttributeValues).includes(other.sessionId);
      (isEnd ? released : arrived).resolve();
      await (isEnd ? relation : released.promise);
      return undefined;
    };
    const removed = await proxy.during(hook, async () => {
      relation = service.relate(phone, other.token);
      await arrived.promise;
      return person.account.remove();
    });
    expect([(await relation)?.status, removed.status]).toEqual([200, 204]);
    const stored = await itemsAbout({ dynamoDb, tableName }, phone);
    expect(stored.filter(({ login_user_id }) => login_user_id !== undefined)).toEqual([]);
  });
});

test('twenty-five identities at once, where there is room for twenty: twenty are linked', async () => {
  const { account } = await newPerson(service);
  const links = Array.from({ length: 25 }, () =>
    account.linkAt('provider_a', unique('one-of-many')),
  );
  const statuses = (await Promise.all(links)).map(({ status }) => status);
  expect(statuses.toSorted()).toEqual([...Array(20).fill(201), ...Array(5).fill(409)]);
  expect(identityIdsOf(await account.show())).toHaveLength(21);
});

test('the last free place, where the number of identities was counted wrongly: one is linked', async () => {
  const person = await newPerson(service);
  const { account } = person;
  for (let linked = 0; linked < 19; linked += 1)
    await account.linkAt('provider_a', unique('one-of-many'));
  await countLinkedAs(person, 20);
  const link = () => account.linkAt('provider_a', unique('last'));
  const [late, early] = await overtaken(0, link, link);
  expect([early.status, late.status]).toEqual([201, 409]);
  expect(identityIdsOf(await account.show())).toHaveLength(21);
});

/** Stores another number of linked identities, as requests of 1.0.0 beside this version leave it. */
const countLinkedAs = ({ loginUserId }: Person, count: number) =>
  DynamoDBDocumentClient.from(dynamoDb).send(
    new UpdateCommand({
      TableName: tableName,
      Key: loginUserKey(loginUserId),
      UpdateExpression: 'SET linked_identities = :count',
      ExpressionAttributeValues: { ':count': count },
    }),
  );

test('twenty unlinkings of different identities at once, then links: all succeed', async () => {
  const { account } = await newPerson(service);
  const linkTwenty = () =>
    Promise.all(
      Array.from({ length: 20 }, () => account.linkAt('provider_a', unique('one-of-many'))),
    );
  const linked = await linkTwenty();
  const unlinked = await Promise.all(linked.map(({ body }) => account.unlink(body.id)));
  expect(unlinked.map(({ status }) => status)).toEqual(Array(20).fill(204));
  expect((await linkTwenty()).map(({ status }) => status)).toEqual(Array(20).fill(201));
});

test('the same unlinking twenty times at once: done once', async () => {
  const { account } = await newPerson(service);
  const { id } = (await account.linkAt('provider_a', unique('other'))).body;
  const answers = await Promise.all(Array.from({ length: 20 }, () => account.unlink(id)));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([204, ...Array(19).fill(404)]);
});

const issuer = `${service.demo.sandbox_url}/provider_f`;

test('an identity that twenty operators move at once to different people is one person’s', async () => {
  const alice = await newPerson(service);
  const people = await Promise.all(Array.from({ length: 20 }, () => newPerson(service)));
  const flags = { provider: 'provider_f', issuer, subject: alice.subject, move: true };
  const move = ({ loginUserId }: Person) =>
    service.operate('identities', 'add', { 'login-user': loginUserId, ...flags });
  const moves = await Promise.all(people.map(move));
  expect(moves).toEqual(Array(20).fill(expect.objectContaining({ added: true })));
  const shown = await Promise.all([alice, ...people].map(({ account }) => account.show()));
  expect(shown.map(identityIdsOf).filter(({ length }) => length !== 1)).toEqual([
    [],
    [expect.any(String), expect.any(String)],
  ]);
  const [owner] = shown.filter((answer) => identityIdsOf(answer).length === 2);
  expect(subOf(await service.logIn(alice.subject))).toBe(owner?.body.id);
});

const importOne = (external_id: string, subject: string, more: object = {}) => {
  const text = JSON.stringify({ provider: 'provider_f', issuer, external_id, subject });
  const people = [{ line: 1, text, repetition: 0 }];
  const { login_app_id } = service.demo.login_app;
  return service.operate('login-users', 'import', { 'login-app': login_app_id, people, ...more });
};

test.each([false, true])(
  'twenty imports of a person at once, --replace %s: one person',
  async (replace) => {
    const external = unique('external');
    const subjects = Array.from({ length: 10 }, () => unique('subject'));
    const imports = [...subjects, ...subjects].map((subject) =>
      importOne(external, subject, replace ? { replace } : {}),
    );
    const outcomes = await Promise.all(imports);
    for (const { refused } of outcomes) expect(refused).toEqual([]);
    const flags = { 'login-app': service.demo.login_app.login_app_id, 'external-id': external };
    const { login_user_id, identities } = await service.operate('login-users', 'find', flags);
    const found = Object.values(Object(identities)).map((one) => Object(one).subject);
    expect(found).toHaveLength(replace ? 1 : 10);
    for (const subject of found) expect(subOf(await service.logIn(subject))).toBe(login_user_id);
  },
);

const isReadOf = ({ operation, body }: StoreCall, key: string): boolean =>
  operation === 'GetItem' && JSON.stringify(body.Key).includes(key);

test('a link of the first identity that is unlinked between its reads: it is linked anew', async () => {
  const { account, subject, loginUserId } = await newPerson(service);
  await account.linkAt('provider_a', unique('other'));
  const [first = ''] = identityIdsOf(await account.show());
  let reads = 0;
  let unlinking: Answer | undefined;
  const hook = async (call: StoreCall) => {
    if (isReadOf(call, loginUserId)) {
      reads += 1;
      if (reads === 2) unlinking = await account.unlink(first);
    }
    return undefined;
  };
  const link = await proxy.during(hook, () => account.linkAt('provider_f', subject));
  expect([unlinking?.status, link.status]).toEqual([204, 201]);
  expect(identityIdsOf(await account.show())).toHaveLength(2);
  expect(subOf(await service.logIn(subject))).toBe(loginUserId);
});

test('an import of a person whom another one creates between its reads: repeated', async () => {
  const [external, subject] = [unique('external'), unique('subject')];
  const identityRead = Promise.withResolvers<void>();
  let rival: Promise<unknown> | undefined;
  const hook = async (call: StoreCall) => {
    if (rival) return undefined;
    if (isReadOf(call, '"EXTERNAL_ID"')) {
      await identityRead.promise;
      rival = importOne(external, subject);
      await rival;
      return undefined;
    }
    if (!isReadOf(call, '"LOGIN_USER"')) return undefined;
    // The identity is nobody's yet.
    identityRead.resolve();
    return { status: 200, body: {} };
  };
  const outcome = await proxy.during(hook, () => importOne(external, subject));
  expect(outcome).toMatchObject({ added: 0, repeated: 1, refused: [] });
  const flags = { 'login-app': service.demo.login_app.login_app_id, 'external-id': external };
  const { login_user_id } = await service.operate('login-users', 'find', flags);
  expect(subOf(await service.logIn(subject))).toBe(login_user_id);
});

/**
 * What DynamoDB answers to a write that meets a transaction, or to a transaction that meets
 * another.
 */
function conflictWith({ operation, body }: StoreCall): StoreAnswer {
  const name =
    operation === 'TransactWriteItems'
      ? 'TransactionCanceledException'
      : 'TransactionConflictException';
  const writes = Array.isArray(body.TransactItems) ? body.TransactItems : [];
  const CancellationReasons = writes.map((_, place) => ({
    Code: place === 0 ? 'TransactionConflict' : 'None',
  }));
  const __type = `com.amazonaws.dynamodb.v20120810#${name}`;
  return { status: 400, body: { __type, message: 'Conflict', CancellationReasons } };
}

test('a login beside twenty links of the same person, with conflicts in the store: all succeed', async () => {
  const person = await newPerson(service);
  let writes = 0;
  // Every second write meets a transaction.
  const hook = (call: StoreCall) => {
    if (!isWrite(call)) return undefined;
    writes += 1;
    return writes % 2 === 0 ? conflictWith(call) : undefined;
  };
  const links = () =>
    Array.from({ length: 20 }, () => person.account.linkAt('provider_a', unique('one-of-many')));
  const logins = () => Array.from({ length: 5 }, () => service.logIn(person.subject));
  const answers = await proxy.during(hook, () => Promise.all([...links(), ...logins()]));
  const statuses = answers.map(({ status }) => status);
  expect(statuses).toEqual([...Array(20).fill(201), ...Array(5).fill(200)]);
});

/** DynamoDB's answer to a transaction whose condition somebody else has changed. */
const refused: StoreAnswer = {
  status: 400,
  body: {
    __type: 'com.amazonaws.dynamodb.v20120810#TransactionCanceledException',
    message: 'Refused',
    CancellationReasons: [{ Code: 'None' }, { Code: 'ConditionalCheckFailed' }],
  },
};

describe.each<[string, (call: StoreCall) => StoreAnswer]>([
  ['always meets another', conflictWith],
  ['is always overtaken', () => refused],
])('a transaction that %s', (_, answerTo) => {
  const hook = (call: StoreCall) =>
    call.operation === 'TransactWriteItems' ? answerTo(call) : undefined;

  test('is a 503 that says when to try again, and links nothing', async () => {
    const { account } = await newPerson(service);
    const subject = unique('other');
    const link = await proxy.during(hook, () => account.linkAt('provider_a', subject));
    expectError(link, { status: 503, error: 'temporarily_unavailable', naming: /Try again\.$/ });
    expect(link.headers.get('retry-after')).toBe('10');
    expect(identityIdsOf(await account.show())).toHaveLength(1);
    expect((await account.linkAt('provider_a', subject)).status).toBe(201);
  });

  test('tells the operator of an import to try again', async () => {
    const [external, subject] = [unique('external'), unique('subject')];
    const failed = proxy.during(hook, () => importOne(external, subject));
    await expect(failed).rejects.toThrow(/Try again\.$/);
    expect(await importOne(external, subject)).toMatchObject({ added: 1 });
  });
});

test('an identity that another person wants before its unlinking is written is not theirs yet', async () => {
  const [alice, bob] = [await newPerson(service), await newPerson(service)];
  const subject = unique('shared');
  const { id } = (await alice.account.linkAt('provider_a', subject)).body;
  const [unlinking, link] = await overtaken(
    0,
    () => alice.account.unlink(id),
    () => bob.account.linkAt('provider_a', subject),
  );
  expect([unlinking.status, link.status]).toEqual([204, 409]);
  expect((await bob.account.linkAt('provider_a', subject)).status).toBe(201);
  expect(await ownersOf([alice.account, bob.account], 'provider_a')).toEqual([bob.loginUserId]);
  expect(subOf(await service.logIn(subject, 'provider_a'))).toBe(bob.loginUserId);
});

const operateOn = (command: string, { loginUserId }: Person) =>
  service.operate('login-users', command, { 'login-user': loginUserId });
const blocked = { status: 403, error: 'forbidden', naming: 'The Login User is blocked.' };
const deleted = { status: 401, error: 'invalid_token', naming: 'The Login User has been deleted.' };

test.each<[string, string, (person: Person, id: string) => Promise<Answer>, typeof blocked]>([
  ['block', 'a deletion', ({ account }) => account.remove(), blocked],
  ['block', 'an unlinking', ({ account }, id) => account.unlink(id), blocked],
  ['block', 'a link', ({ account }) => account.linkAt('provider_d', unique('other')), blocked],
  ['delete', 'a link', ({ account }) => account.linkAt('provider_d', unique('other')), deleted],
])(
  'login-users %s just before %s: an error, and nothing else',
  async (command, _, request, error) => {
    const person = await newPerson(service);
    const { id } = (await person.account.linkAt('provider_a', unique('other'))).body;
    const [answer] = await overtaken(
      0,
      () => request(person, id),
      () => operateOn(command, person),
    );
    expectError(answer, error);
    if (error === deleted) return;
    const login = await service.logIn(person.subject);
    expectError(login, { status: 400, error: 'invalid_grant', naming: blocked.naming });
    await operateOn('unblock', person);
    expect(identityIdsOf(await person.account.show())).toEqual([expect.any(String), id]);
  },
);
