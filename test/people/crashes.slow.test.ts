import { DynamoDBDocumentClient, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { afterEach, describe, expect, test } from '@jest/globals';
import { newIndexId } from '../../lib/login-users/login-user.ts';
import {
  dueGuestsList,
  guestEndKey,
  loginUserKey,
  unfinishedList,
} from '../../lib/storage/keys.ts';
import { newGuest } from '../support/guests.ts';
import { newIssuerLogin } from '../support/issuer-login.ts';
import { itemAt, itemsAbout } from '../support/items-about.ts';
import {
  accountOf,
  identityIdsOf,
  newPerson,
  newPersonWithPhone,
  type Person,
  subOf,
} from '../support/people.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import { everyCrash, type Fault, failing, isWrite } from '../support/store-proxy.ts';

const started = await startServiceWithStore({}, { movableClock: true });
const { running, service, proxy } = started;
const standIn = await startProviderStandIn();
afterEach(() => running.resetClock());

/**
 * Lets one write of a request fail, before or after it is done, as when the function dies there.
 * False when it makes fewer.
 */
const dying = async (
  place: number,
  fault: Fault,
  request: () => Promise<unknown>,
): Promise<boolean> => (await failing(proxy, [place, fault], request, isWrite)).happened;

/**
 * Lets ten minutes pass and does what the service does every minute: by its schedule, or as an
 * operator asks for it.
 */
async function finishLater(by: 'schedule' | 'operator'): Promise<void> {
  running.advance(601);
  if (by === 'operator')
    expect(await service.operate('login-users', 'finish-deletions', {})).toMatchObject({
      deleted: true,
    });
  else await service.runSchedule();
}

const table = DynamoDBDocumentClient.from(started.dynamoDb);
const { tableName: TableName } = started;

/** Changes attributes of a Login User, as another version would. */
const changeItem = (
  { loginUserId }: Person,
  UpdateExpression: string,
  names: string[],
  values?: Record<string, unknown>,
) =>
  table.send(
    new UpdateCommand({
      TableName,
      Key: loginUserKey(loginUserId),
      UpdateExpression,
      ExpressionAttributeNames: Object.fromEntries(names.map((name, at) => [`#n${at}`, name])),
      ExpressionAttributeValues: values,
    }),
  );

/** Gives a person an identity to which no index item leads, as an interrupted link of 1.0.0 did. */
const leaveAttribute = (person: Person, identity_id: string) => {
  const about = {
    provider: 'provider_a',
    namespace: 'https://one.example',
    subject: unique('leftover'),
  };
  const identity = {
    identity_id,
    slot: newIndexId(),
    ...about,
    linked_at: '2026-01-31T08:00:00.000Z',
  };
  return changeItem(person, 'SET #n0 = :v', [`identity_${identity_id}`], { ':v': identity });
};

/**
 * Takes identities from a person, but not the index items that lead to them: what an interrupted
 * unlinking of 1.0.0 left.
 */
const takeAttributes = (person: Person, ids: string[]) =>
  changeItem(
    person,
    `REMOVE ${ids.map((_, at) => `#n${at}`).join(', ')}`,
    ids.map((id) => `identity_${id}`),
  );

/** Marks a link, as 1.0.0 did. */
const leaveMark = ({ loginUserId }: Person, identity_id: string) => {
  const key = { pk: loginUserKey(loginUserId).pk, sk: `LINK#${identity_id}` };
  const place = { list: unfinishedList, list_position: '2026-01-31T08:00:00.000Z' };
  return table.send(
    new PutCommand({
      TableName,
      Item: { ...key, ...place, login_user_id: loginUserId, identity_id },
    }),
  );
};

/**
 * What the table has about a person: of one who is deleted, nothing but the item that keeps their
 * id.
 */
async function leftOf({ loginUserId }: { loginUserId: string }): Promise<unknown[]> {
  const items = await itemsAbout(started, loginUserId);
  return items.map(({ sk, created_at }) => (created_at === undefined ? sk : `${sk}, existing`));
}

const demoApp = service.demo.login_app.login_app_id;
const issuer = `${service.demo.sandbox_url}/provider_f`;

/** Imports two identities of one person, whose external id is the first subject. */
const importTwo = ([first = '', second = '']: string[], more: object = {}) => {
  const about = { provider: 'provider_f', issuer, external_id: first };
  const lineOf = (subject: string) => JSON.stringify({ ...about, subject });
  const people = [first, second].map((one, at) => ({
    line: at + 1,
    text: lineOf(one),
    repetition: 0,
  }));
  return service.operate('login-users', 'import', { 'login-app': demoApp, people, ...more });
};

/** The subjects of the person with an external id, if there is one. */
async function subjectsWith(externalId: string): Promise<unknown[]> {
  const flags = { 'login-app': demoApp, 'external-id': externalId };
  const found = await service
    .operate('login-users', 'find', flags)
    .catch(() => ({ identities: [] }));
  return Object.values(Object(found.identities)).map((one) => Object(one).subject);
}

interface Flow {
  request: () => Promise<unknown>;
  /** Expects that everything has happened or nothing, and that the request can be repeated. */
  expectWhole: () => Promise<void>;
}

async function newLink(): Promise<Flow> {
  const [alice, bob] = [await newPerson(service), await newPerson(service)];
  const subject = unique('other');
  const request = () => alice.account.linkAt('provider_a', subject);
  const expectWhole = async () => {
    const isTheirs = identityIdsOf(await alice.account.show()).length === 2;
    if (isTheirs) expect((await bob.account.linkAt('provider_a', subject)).status).toBe(409);
    expect((await request()).status).toBe(isTheirs ? 200 : 201);
    expect(identityIdsOf(await alice.account.show())).toHaveLength(2);
    expect(subOf(await service.logIn(subject, 'provider_a'))).toBe(alice.loginUserId);
  };
  return { request, expectWhole };
}

/** A link of a guest, who is a person afterwards or a guest still. */
async function newPromotion(): Promise<Flow> {
  const guest = await newGuest(service);
  const subject = unique('first');
  const request = () => guest.account.linkAt('provider_a', subject);
  const expectWhole = async () => {
    const { guest: isGuest = false, identities } = (await guest.account.show()).body;
    expect(identities).toHaveLength(isGuest ? 0 : 1);
    const end = await itemAt(started, guestEndKey(guest.loginUserId));
    expect(end !== undefined).toBe(isGuest);
    expect((await request()).status).toBe(isGuest ? 201 : 200);
    expect((await guest.account.show()).body).not.toHaveProperty('guest');
    expect(subOf(await service.logIn(subject, 'provider_a'))).toBe(guest.loginUserId);
  };
  return { request, expectWhole };
}

/** The beginning of a guest: one who has tokens is whole, and what else is left goes. */
async function newBeginning(): Promise<Flow> {
  const begun: (string | undefined)[] = [];
  const request = async () => {
    const answer = await service.token({ grant_type: 'guest' });
    if (answer.status === 200) begun.push(subOf(answer));
    return answer;
  };
  const expectWhole = async () => {
    expect((await request()).status).toBe(200);
    running.advance(31 * 86_400);
    await finishLater('schedule');
    running.resetClock();
    for (const loginUserId of begun)
      expect(await leftOf({ loginUserId: String(loginUserId) })).toEqual(['LOGIN_USER']);
    expect(await itemsAbout(started, dueGuestsList)).toEqual([]);
  };
  return { request, expectWhole };
}

const newUnlinking = (which: 'first' | 'linked') => async (): Promise<Flow> => {
  const [alice, bob] = [await newPerson(service), await newPerson(service)];
  const linked = unique('linked');
  await alice.account.linkAt('provider_a', linked);
  const [first = '', second = ''] = identityIdsOf(await alice.account.show());
  const id = which === 'first' ? first : second;
  const request = () => alice.account.unlink(id);
  const expectWhole = async () => {
    const isTheirs = identityIdsOf(await alice.account.show()).includes(id);
    const [provider, subject] =
      which === 'first' ? ['provider_f', alice.subject] : ['provider_a', linked];
    expect((await bob.account.linkAt(provider, subject)).status).toBe(isTheirs ? 409 : 201);
    expect((await request()).status).toBe(isTheirs ? 204 : 404);
    expect(identityIdsOf(await alice.account.show())).toHaveLength(1);
    const owner = isTheirs ? alice : bob;
    expect(subOf(await service.logIn(subject, provider)) === owner.loginUserId).toBe(!isTheirs);
  };
  return { request, expectWhole };
};

const newMove = (which: 'first' | 'linked') => async (): Promise<Flow> => {
  const [alice, bob] = [await newPerson(service), await newPerson(service)];
  const linked = unique('linked');
  await alice.account.linkAt('provider_f', linked);
  const subject = which === 'first' ? alice.subject : linked;
  const flags = {
    'login-user': bob.loginUserId,
    provider: 'provider_f',
    issuer,
    subject,
    move: true,
  };
  const request = () => service.operate('identities', 'add', flags);
  const expectWhole = async () => {
    const isMoved = identityIdsOf(await bob.account.show()).length === 2;
    expect(identityIdsOf(await alice.account.show())).toHaveLength(isMoved ? 1 : 2);
    expect(subOf(await service.logIn(subject))).toBe((isMoved ? bob : alice).loginUserId);
    expect(await request()).toMatchObject({ added: !isMoved });
    expect(identityIdsOf(await alice.account.show())).toHaveLength(1);
    expect(subOf(await service.logIn(subject))).toBe(bob.loginUserId);
  };
  return { request, expectWhole };
};

const newImport = (who: 'new' | 'known') => async (): Promise<Flow> => {
  const known = who === 'known' ? await newPerson(service) : undefined;
  const subjects = [known?.subject ?? unique('first'), unique('second')];
  const request = () => importTwo(subjects);
  const expectWhole = async () => {
    const [external = ''] = subjects;
    const imported = await subjectsWith(external);
    expect([[], subjects]).toContainEqual(imported);
    if (known)
      expect((await known.account.show()).body.identities).toHaveLength(imported.length || 1);
    const isDone = imported.length > 0;
    expect(await request()).toMatchObject({
      added: isDone ? 0 : 2,
      repeated: isDone ? 2 : 0,
      refused: [],
    });
    expect(await subjectsWith(external)).toEqual(subjects);
    const [one, other] = await Promise.all(subjects.map((subject) => newPerson(service, subject)));
    expect(one?.loginUserId).toBe(other?.loginUserId);
  };
  return { request, expectWhole };
};

const newReplacement = (which: 'first' | 'linked') => async (): Promise<Flow> => {
  const [external, other, next] = [unique('external'), unique('other'), unique('next')];
  await importTwo([external, other]);
  const kept = which === 'first' ? other : external;
  const replaced = which === 'first' ? external : other;
  const lineOf = (subject: string) => ({
    provider: 'provider_f',
    issuer,
    external_id: external,
    subject,
  });
  const people = [kept, next].map((subject, at) => ({
    line: at + 1,
    text: JSON.stringify(lineOf(subject)),
    repetition: 0,
  }));
  const flags = { 'login-app': demoApp, people, replace: true };
  const request = () => service.operate('login-users', 'import', flags);
  const expectWhole = async () => {
    const subjects = (await subjectsWith(external)).toSorted();
    expect([[kept, replaced].toSorted(), [kept, next].toSorted()]).toContainEqual(subjects);
    expect(await request()).toMatchObject({ refused: [] });
    expect((await subjectsWith(external)).toSorted()).toEqual([kept, next].toSorted());
    const { loginUserId } = await newPerson(service, kept);
    expect(subOf(await service.logIn(next))).toBe(loginUserId);
    expect(subOf(await service.logIn(replaced))).not.toBe(loginUserId);
  };
  return { request, expectWhole };
};

const flows: [string, () => Promise<Flow>][] = [
  ['a link', newLink],
  ['the first link of a guest', newPromotion],
  ['the beginning of a guest', newBeginning],
  ['an unlinking', newUnlinking('linked')],
  ['an unlinking of the first identity', newUnlinking('first')],
  ['a move', newMove('linked')],
  ['a move of the first identity', newMove('first')],
  ['an import of somebody new', newImport('new')],
  ['an import of somebody who has logged in', newImport('known')],
  ['an import --replace', newReplacement('linked')],
  ['an import --replace of the first identity', newReplacement('first')],
];

describe('a function that dies at any call', () => {
  test.each(flows)('%s: everything has happened, or nothing', async (_, flow) => {
    for (const fault of ['fails before', 'fails after'] as const) {
      let hasHappened = true;
      for (let place = 0; hasHappened; place += 1) {
        const { request, expectWhole } = await flow();
        const action = () => request().catch(() => undefined);
        ({ happened: hasHappened } = await failing(proxy, [place, fault], action));
        await expectWhole();
      }
    }
  });

  test('what 1.0.0 has left of a link goes with its mark', async () => {
    const person = await newPerson(service);
    const { account } = person;
    const { id } = (await account.linkAt('provider_a', unique('kept'))).body;
    const leftover = `i_${'L'.repeat(22)}`;
    await leaveAttribute(person, leftover);
    for (const marked of [leftover, id]) await leaveMark(person, marked);
    const next = (await account.linkAt('provider_a', unique('next'))).body;
    running.advance(601);
    const finished = await service.operate('login-users', 'finish-deletions', {});
    expect(finished).toMatchObject({ deleted: true, removed: { login_users: 0, links: 1 } });
    expect(identityIdsOf(await account.show()).slice(1)).toEqual([id, next.id]);
    expect(await itemsAbout(started, `LINK#`)).toEqual([]);
    const links = Array.from({ length: 20 }, () => account.linkAt('provider_a', unique('more')));
    const statuses = (await Promise.all(links)).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([...Array(18).fill(201), 409, 409]);
  });

  test('an identity of which 1.0.0 freed only half is free', async () => {
    const [alice, bob, carol] = [
      await newPerson(service),
      await newPerson(service),
      await newPerson(service),
    ];
    const [one, other] = [unique('one'), unique('other')];
    for (const subject of [one, other]) await alice.account.linkAt('provider_a', subject);
    const [, ...ids] = identityIdsOf(await alice.account.show());
    await takeAttributes(alice, ids);
    expect((await bob.account.linkAt('provider_a', one)).status).toBe(201);
    expect(subOf(await service.logIn(one, 'provider_a'))).toBe(bob.loginUserId);
    expect(subOf(await service.logIn(other, 'provider_a'))).not.toBe(alice.loginUserId);
    expect((await carol.account.linkAt('provider_a', other)).status).toBe(409);
  });

  // Writes of the logout: the phone, then the Login User.
  test.each([0, 1])(
    'a logout everywhere that fails before write %i can be repeated',
    async (place) => {
      const person = await newPersonWithPhone(service);
      const others = [1, 2, 3].map(() => newPerson(service, person.subject));
      const accounts = (await Promise.all(others)).map(({ token }) => accountOf(service, token));
      expect(await dying(place, 'fails before', () => person.account.endSessions())).toBe(true);
      expect((await person.account.endSessions()).status).toBe(204);
      for (const account of [person.account, ...accounts])
        expect((await account.show()).status).toBe(401);
    },
  );

  /** A person with two sessions, a linked identity and a phone. */
  const newOwner = async () => {
    const person = await newPersonWithPhone(service);
    const tablet = await newPerson(service, person.subject);
    const linked = unique('linked');
    await person.account.linkAt('provider_a', linked);
    return { ...person, tablet, linked };
  };
  const flagsOf = ({ loginUserId }: Person) => ({ 'login-user': loginUserId });
  const removeAsOperator = (person: Person) =>
    service.operate('login-users', 'delete', flagsOf(person));

  test.each(everyCrash(7))(
    'a deletion that %s at write %i, repeated: done',
    async (fault, place) => {
      const person = await newOwner();
      const { account, tablet, linked } = person;
      expect(await dying(place, fault, () => account.remove())).toBe(true);
      const hasBegun = place > 0 || fault === 'fails after';
      expect((await tablet.account.show()).status).toBe(hasBegun ? 401 : 200);
      const again = await account.remove();
      const isOut = place === 6 || (place === 5 && fault === 'fails after');
      expect(again.status).toBe(isOut ? 401 : 204);
      expect((await account.remove()).status).toBe(401);
      await expect(removeAsOperator(person)).rejects.toThrow('There is no such');
      expect(subOf(await service.logIn(linked, 'provider_a'))).not.toBe(person.loginUserId);
      expect((await newPerson(service, person.subject)).loginUserId).not.toBe(person.loginUserId);
    },
  );

  test.each(everyCrash(7))(
    'a deletion that %s at write %i is finished later',
    async (fault, place) => {
      const person = await newOwner();
      expect(await dying(place, fault, () => person.account.remove())).toBe(true);
      const hasBegun = place > 0 || fault === 'fails after';
      await finishLater(fault === 'fails before' ? 'schedule' : 'operator');
      expect((await person.account.show()).status).toBe(hasBegun ? 401 : 200);
      const left = await leftOf(person);
      if (hasBegun) expect(left).toEqual(['LOGIN_USER']);
      expect(left).not.toContain('DELETION');
      for (const subject of [person.subject, person.linked])
        expect(await itemsAbout(started, subject)).toHaveLength(hasBegun ? 0 : 1);
    },
  );

  test.each(['fails before', 'fails after'] as const)(
    'an import that %s, then a login',
    async (fault) => {
      const subjects = [unique('first'), unique('second')];
      await dying(0, fault, () => importTwo(subjects).catch(() => undefined));
      const person = await newPerson(service, subjects[1]);
      expect(await importTwo(subjects)).toMatchObject({ refused: [] });
      expect(subOf(await service.logIn(subjects[0] ?? ''))).toBe(person.loginUserId);
    },
  );

  test.each(everyCrash(4))(
    'a deletion that %s at %i, of somebody imported',
    async (fault, place) => {
      const subjects = [unique('first'), unique('second')];
      await importTwo(subjects);
      const { token, loginUserId } = await newPerson(service, subjects[0]);
      await dying(place, fault, () => accountOf(service, token).remove());
      await finishLater('operator');
      const isDeleted = (await leftOf({ loginUserId })).every((sk) => sk === 'LOGIN_USER');
      expect(isDeleted).toBe(place > 0 || fault === 'fails after');
      const flags = { 'login-app': demoApp, 'external-id': subjects[0] };
      const found = await service.operate('login-users', 'find', flags).catch(() => undefined);
      expect(found === undefined).toBe(isDeleted);
      expect(await importTwo(subjects)).toMatchObject({ added: isDeleted ? 2 : 0, refused: [] });
    },
  );

  test.each(everyCrash(4))(
    'a notification that %s at write %i, sent again',
    async (fault, place) => {
      const settings = { on_account_deleted: 'delete' };
      const { logIn, notify, subject } = await newIssuerLogin(service, standIn, settings);
      const person = await logIn();
      expect(await dying(place, fault, () => notify('account-delete'))).toBe(true);
      expect((await notify('account-delete')).status).toBe(204);
      expect((await person.account.show()).status).toBe(401);
      await finishLater('schedule');
      expect(await itemsAbout(started, subject)).toEqual([]);
      expect(await leftOf(person)).toEqual(['LOGIN_USER']);
    },
  );

  test("an operator's deletion of a blocked person that died is finished by the person", async () => {
    const person = await newOwner();
    await service.operate('login-users', 'block', flagsOf(person));
    await dying(0, 'fails after', () => removeAsOperator(person).catch(() => undefined));
    expect((await person.account.remove()).status).toBe(204);
    expect(await leftOf(person)).toEqual(['LOGIN_USER']);
  });

  test('what cannot be finished does not stop the rest, and the function fails', async () => {
    const [first, second] = [await newOwner(), await newOwner()];
    for (const { account } of [first, second])
      await dying(1, 'fails before', () => account.remove());
    proxy.hook = (call) =>
      isWrite(call) && JSON.stringify(call.body).includes(first.loginUserId)
        ? 'fails before'
        : undefined;
    await expect(finishLater('schedule')).rejects.toThrow('1 could not be finished.');
    expect(await leftOf(second)).toEqual(['LOGIN_USER']);
    expect(running.output()).toContain('deletion_not_finished');
  });

  test.each(everyCrash(5))(
    'a deletion that %s at write %i: operators finish it',
    async (fault, place) => {
      const person = await newOwner();
      await dying(place, fault, () => person.account.remove());
      expect(await removeAsOperator(person)).toMatchObject({ deleted: true });
      await expect(removeAsOperator(person)).rejects.toThrow('There is no such');
      expect((await person.account.remove()).status).toBe(401);
    },
  );
});
