import { afterEach, describe, expect, test } from '@jest/globals';
import { invokeFunction } from '../../infra/invoke-function.ts';
import { newIssuerLogin } from '../support/issuer-login.ts';
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
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { operatorOf, unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import { everyCrash, type Fault, failing, isWrite } from '../support/store-proxy.ts';

const started = await startServiceWithStore({}, { movableClock: true });
const { running, service, proxy } = started;
const standIn = await startProviderStandIn();
afterEach(() => running.resetClock());

/** Lets one write of a request fail, before or after it is done, as when the function dies there. False when it makes fewer. */
const dying = async (place: number, fault: Fault, request: () => Promise<unknown>): Promise<boolean> =>
  (await failing(proxy, [place, fault], request, isWrite)).happened;

/** Lets ten minutes pass and does what the service does every ten minutes: by its schedule, or as an operator asks for it. */
async function finishLater(by: 'schedule' | 'operator'): Promise<void> {
  running.advance(601);
  if (by === 'operator')
    expect(await service.operate('login-users', 'finish-deletions', {})).toMatchObject({ deleted: true });
  else await invokeFunction({ ...operatorOf(running.directory), name: 'finish-deletions' }, {});
}

/** What the table has about a person: of one who is deleted, nothing but the item that keeps their id. */
async function leftOf({ loginUserId }: { loginUserId: string }): Promise<unknown[]> {
  const items = await itemsAbout(started, loginUserId);
  return items.map(({ sk, created_at }) => (created_at === undefined ? sk : `${sk}, existing`));
}

describe('a function that dies at any write', () => {
  test.each(everyCrash(2))('a link that %s at write %i: nobody has it, or one', async (fault, place) => {
    const [alice, bob] = [await newPerson(service), await newPerson(service)];
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
  });

  test.each(everyCrash(2))('a link that %s at write %i is theirs or goes', async (fault, place) => {
    const person = await newPerson(service);
    const subject = unique('other');
    const told = { claims: JSON.stringify({ name: subject }) };
    expect(await dying(place, fault, () => person.account.linkAt('provider_a', subject, told))).toBe(true);
    const isTheirs = (await ownersOf([person.account], 'provider_a')).length === 1;
    running.advance(16);
    expect((await person.account.linkAt('provider_d', unique('next'))).status).toBe(201);
    expect(await itemsAbout(started, subject)).toHaveLength(isTheirs ? 1 : 0);
    expect(await ownersOf([person.account], 'provider_a')).toHaveLength(isTheirs ? 1 : 0);
  });

  test('links that died take no place among the 20 that a person may have', async () => {
    const { account } = await newPerson(service);
    const [again, another] = [unique('other'), unique('other')];
    const link = (subject = unique('other')) => account.linkAt('provider_a', subject);
    for (const subject of [again, another]) await dying(1, 'fails before', () => link(subject));
    running.advance(16);
    for (let count = 0; count < 18; count += 1) expect((await link()).status).toBe(201);
    await dying(1, 'fails before', () => link(again));
    expect((await link(again)).status).toBe(201);
    running.advance(16);
    expect((await link(another)).status).toBe(201);
    expect((await link()).status).toBe(409);
  });

  test.each(everyCrash(2))('a link that %s at write %i, repeated: theirs, once', async (fault, place) => {
    const { account, loginUserId } = await newPerson(service);
    const subject = unique('other');
    await dying(place, fault, () => account.linkAt('provider_a', subject));
    const isTheirs = identityIdsOf(await account.show()).length === 2;
    expect((await account.linkAt('provider_a', subject)).status).toBe(isTheirs ? 200 : 201);
    const [, id = ''] = identityIdsOf(await account.show());
    expect(identityIdsOf(await account.show())).toHaveLength(2);
    expect(subOf(await service.logIn(subject, 'provider_a'))).toBe(loginUserId);
    expect((await account.unlink(id)).status).toBe(204);
    expect(subOf(await service.logIn(subject, 'provider_a'))).not.toBe(loginUserId);
  });

  test.each(everyCrash(2))('an unlinking that %s at write %i: theirs or free', async (fault, place) => {
    const { account, loginUserId } = await newPerson(service);
    const subject = unique('other');
    const { id } = (await account.linkAt('provider_a', subject)).body;
    expect(await dying(place, fault, () => account.unlink(id))).toBe(true);
    const isTheirs = identityIdsOf(await account.show()).includes(id);
    expect(subOf(await service.logIn(subject, 'provider_a')) === loginUserId).toBe(isTheirs);
    expect((await account.unlink(id)).status).toBe(isTheirs ? 204 : 404);
  });

  // Writes of the logout: the phone, then the Login User.
  test.each([0, 1])('a logout everywhere that fails before write %i can be repeated', async (place) => {
    const person = await newPerson(service);
    const others = [1, 2, 3].map(() => newPerson(service, person.subject));
    await service.relate(await newPhone(service), person.token);
    const accounts = (await Promise.all(others)).map(({ token }) => accountOf(service, token));
    expect(await dying(place, 'fails before', () => person.account.endSessions())).toBe(true);
    expect((await person.account.endSessions()).status).toBe(204);
    for (const account of [person.account, ...accounts]) expect((await account.show()).status).toBe(401);
  });

  /** A person with two sessions, a linked identity and a phone. */
  const newOwner = async () => {
    const person = await newPerson(service);
    const tablet = await newPerson(service, person.subject);
    const linked = unique('linked');
    await person.account.linkAt('provider_a', linked);
    await service.relate(await newPhone(service), person.token);
    return { ...person, tablet, linked };
  };
  const flagsOf = ({ loginUserId }: Person) => ({ 'login-user': loginUserId });
  const removeAsOperator = (person: Person) => service.operate('login-users', 'delete', flagsOf(person));

  test.each(everyCrash(8))('a deletion that %s at write %i, repeated: done', async (fault, place) => {
    const person = await newOwner();
    const { account, tablet, linked } = person;
    expect(await dying(place, fault, () => account.remove())).toBe(true);
    const hasBegun = place > 1 || (place === 1 && fault === 'fails after');
    expect((await tablet.account.show()).status).toBe(hasBegun ? 401 : 200);
    const again = await account.remove();
    const isOut = place === 7 || (place === 6 && fault === 'fails after');
    expect(again.status).toBe(isOut ? 401 : 204);
    expect((await account.remove()).status).toBe(401);
    await expect(removeAsOperator(person)).rejects.toThrow('There is no such');
    expect(subOf(await service.logIn(linked, 'provider_a'))).not.toBe(person.loginUserId);
    expect((await newPerson(service, person.subject)).loginUserId).not.toBe(person.loginUserId);
  });

  test.each(everyCrash(8))('a deletion that %s at write %i is finished later', async (fault, place) => {
    const person = await newOwner();
    expect(await dying(place, fault, () => person.account.remove())).toBe(true);
    const hasBegun = place > 1 || (place === 1 && fault === 'fails after');
    await finishLater(fault === 'fails before' ? 'schedule' : 'operator');
    expect((await person.account.show()).status).toBe(hasBegun ? 401 : 200);
    const left = await leftOf(person);
    if (hasBegun) expect(left).toEqual(['LOGIN_USER']);
    expect(left).not.toContain('DELETION');
    for (const subject of [person.subject, person.linked])
      expect(await itemsAbout(started, subject)).toHaveLength(hasBegun ? 0 : 1);
  });

  /** Imports two identities of one person, whose external id is the first subject. */
  const importTwo = ([first = '', second = '']: string[], more: object = {}) => {
    const issuer = `${service.demo.sandbox_url}/provider_f`;
    const about = { provider: 'provider_f', issuer, external_id: first };
    const lineOf = (subject: string) => JSON.stringify({ ...about, subject });
    const people = [first, second].map((one, at) => ({ line: at + 1, text: lineOf(one), repetition: 0 }));
    return service.operate('login-users', 'import', { 'login-app': demoApp, people, ...more });
  };
  const demoApp = service.demo.login_app.login_app_id;

  test.each(everyCrash(4))('an import that %s at write %i can be repeated', async (fault, place) => {
    const subjects = [unique('first'), unique('second')];
    expect(await dying(place, fault, () => importTwo(subjects).catch(() => undefined))).toBe(true);
    expect(await importTwo(subjects)).toMatchObject({ refused: [] });
    expect(await importTwo(subjects)).toMatchObject({ added: 0, repeated: 2, refused: [] });
    const [one, other] = await Promise.all(subjects.map((subject) => newPerson(service, subject)));
    expect(one?.loginUserId).toBe(other?.loginUserId);
    expect(await accountOf(service, one?.token ?? '').show()).toMatchObject({
      body: { external_id: subjects[0], identities: [{}, {}] },
    });
  });

  test.each(everyCrash(4))('an import that %s at write %i, then a login', async (fault, place) => {
    const subjects = [unique('first'), unique('second')];
    const [first = '', second = ''] = subjects;
    await dying(place, fault, () => importTwo(subjects).catch(() => undefined));
    const person = await newPerson(service, second);
    running.advance(61);
    const { refused } = await importTwo(subjects);
    const isFirst = subOf(await service.logIn(first)) === person.loginUserId;
    const reason = 'The external_id belongs to several people: see lines 1, 2.';
    expect(refused).toEqual(isFirst ? [] : [1, 2].map((line) => ({ line, reason })));
    const isCreated = place > 1 || (place === 1 && fault === 'fails after');
    const isLinked = place === 3 && fault === 'fails after';
    expect(isFirst).toBe(!isCreated || isLinked);
  });

  test.each(everyCrash(4))('an import --replace that %s at write %i, repeated', async (fault, place) => {
    const [external, former, next] = [unique('external'), unique('former'), unique('next')];
    await importTwo([external, former]);
    const { loginUserId } = await newPerson(service, external);
    const replaced = () => importTwo([external, next], { replace: true });
    await dying(place, fault, () => replaced().catch(() => undefined));
    expect(await replaced()).toMatchObject({ refused: [] });
    expect(subOf(await service.logIn(next))).toBe(loginUserId);
    expect(subOf(await service.logIn(former))).not.toBe(loginUserId);
  });

  test.each(everyCrash(5))('a deletion that %s at %i, of somebody imported', async (fault, place) => {
    const subjects = [unique('first'), unique('second')];
    await importTwo(subjects);
    const { token, loginUserId } = await newPerson(service, subjects[0]);
    await dying(place, fault, () => accountOf(service, token).remove());
    await finishLater('operator');
    const isDeleted = (await leftOf({ loginUserId })).every((sk) => sk === 'LOGIN_USER');
    expect(isDeleted).toBe(place > 1 || (place === 1 && fault === 'fails after'));
    const flags = { 'login-app': demoApp, 'external-id': subjects[0] };
    const found = await service.operate('login-users', 'find', flags).catch(() => undefined);
    expect(found === undefined).toBe(isDeleted);
    expect(await importTwo(subjects)).toMatchObject({ added: isDeleted ? 2 : 0, refused: [] });
  });

  test.each(everyCrash(5))('a notification that %s at write %i, sent again', async (fault, place) => {
    const settings = { on_account_deleted: 'delete' };
    const { logIn, notify, subject } = await newIssuerLogin(service, standIn, settings);
    const person = await logIn();
    expect(await dying(place, fault, () => notify('account-delete'))).toBe(true);
    expect((await notify('account-delete')).status).toBe(204);
    expect(await itemsAbout(started, subject)).toEqual([]);
    // Once nothing but the mark is left, no notification leads to it: it goes later.
    const isMarked = (place === 3 && fault === 'fails after') || (place === 4 && fault === 'fails before');
    expect(await leftOf(person)).toEqual(isMarked ? ['DELETION', 'LOGIN_USER'] : ['LOGIN_USER']);
  });

  test('a notification about a linked identity finishes the deletion that its owner began', async () => {
    const { logIn, notify, scene, subject } = await newIssuerLogin(service, standIn);
    const bob = await logIn(unique('bob'));
    await bob.account.link({ provider: 'provider_f', id_token: await scene.idToken({ sub: subject }) });
    await dying(2, 'fails before', () => bob.account.remove());
    expect((await notify('consent-revoked')).status).toBe(204);
    expect(await itemsAbout(started, subject)).toEqual([]);
    expect(await leftOf(bob)).toEqual(['LOGIN_USER']);
  });

  test("an operator's deletion of a blocked person that died is finished by the person", async () => {
    const person = await newOwner();
    await service.operate('login-users', 'block', flagsOf(person));
    await dying(1, 'fails after', () => removeAsOperator(person).catch(() => undefined));
    expect((await person.account.remove()).status).toBe(204);
    expect(await leftOf(person)).toEqual(['LOGIN_USER']);
  });

  test('what cannot be finished does not stop the rest, and the function fails', async () => {
    const [first, second] = [await newOwner(), await newOwner()];
    for (const { account } of [first, second]) await dying(2, 'fails before', () => account.remove());
    proxy.hook = (call) =>
      isWrite(call) && JSON.stringify(call.body).includes(first.loginUserId) ? 'fails before' : undefined;
    await expect(finishLater('schedule')).rejects.toThrow('1 could not be finished.');
    expect(await leftOf(second)).toEqual(['LOGIN_USER']);
    expect(running.output()).toContain('deletion_not_finished');
  });

  test.each(everyCrash(6))('a deletion that %s at write %i: operators finish it', async (fault, place) => {
    const person = await newOwner();
    await dying(place, fault, () => person.account.remove());
    expect(await removeAsOperator(person)).toMatchObject({ deleted: true });
    await expect(removeAsOperator(person)).rejects.toThrow('There is no such');
    expect((await person.account.remove()).status).toBe(401);
  });
});
