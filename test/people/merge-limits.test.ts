import { afterEach, describe, expect, test } from '@jest/globals';
import { invokeFunction } from '../../infra/operator/call/invoke-function.ts';
import { expectError } from '../support/expectations.ts';
import { itemsAbout } from '../support/items-about.ts';
import { mergeForm, merge as mergeWith, sendMerge } from '../support/merges.ts';
import {
  deviceIdsOf,
  eventuallyPasses,
  identityIdsOf,
  newPerson,
  newPhone,
  subOf,
} from '../support/people.ts';
import { newGrants, newKeeper } from '../support/provider-access.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { operatorOf, unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import type { StoreCall } from '../support/store-proxy.ts';

const own = await sharedServiceWithStore();
const { running, service } = own;
const standIn = await startProviderStandIn();
afterEach(() => running.resetClock());

const merge = (caller: { token: string }, keep: string, subject: string) =>
  mergeWith(service, caller, keep, subject);

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
    const { body } = await merge(mine, 'mine', theirs.subject);
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
    const [mine, theirs] = [await newPerson(service), await newPerson(service)];
    const phones: string[] = [];
    for (let count = 0; count < 22; count += 1) {
      const phone = await newPhone(service);
      await service.relate(phone, count < 11 ? mine.token : theirs.token);
      phones.push(phone);
    }
    const { body } = await merge(mine, 'mine', theirs.subject);
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
    expect((await merge(next, 'mine', last.subject)).status).toBe(200);
    last = next;
  }
  const { body } = await service.introspect(first.token);
  expect(body).toEqual({ active: false, merged_into: last.loginUserId });

  const other = await newPerson(service);
  const refused = { status: 409, error: 'conflict', naming: /20 merges in a row.*keep that one/ };
  expectError(await merge(other, 'mine', last.subject), refused);
  expectError(await merge(last, 'theirs', other.subject), refused);
  const flags = { 'login-user': other.loginUserId, 'given-up': last.loginUserId, reason: 'x' };
  await expect(service.operate('login-users', 'merge', flags)).rejects.toThrow('keep that one');
  expect((await merge(other, 'theirs', last.subject)).status).toBe(200);
  expect((await service.introspect(other.token)).body.merged_into).toBe(last.loginUserId);
});

describe('external ids', () => {
  test('comes along if the one who is kept has none', async () => {
    const imported = await importPerson();
    const person = await newPerson(service);
    const { body } = await merge(person, 'mine', imported.subject);
    expect(body.external_id).toBe(imported.subject);
    const flags = { 'login-app': demoApp, 'external-id': imported.subject };
    expect(await service.operate('login-users', 'find', flags)).toMatchObject({
      login_user_id: person.loginUserId,
    });
  });

  test('stays with the one who is kept', async () => {
    const imported = await importPerson();
    const person = await newPerson(service);
    const { body } = await merge(imported, 'mine', person.subject);
    expect(body.external_id).toBe(imported.subject);
  });

  test('two different ones: 409 that names neither', async () => {
    const [one, two] = [await importPerson(), await importPerson()];
    for (const keep of ['mine', 'theirs']) {
      const answer = await merge(one, keep, two.subject);
      expectError(answer, { status: 409, error: 'conflict', naming: /different external ids/ });
      expect(answer.text).not.toContain(two.subject);
    }
    expect(subOf(await service.logIn(two.subject))).toBe(two.loginUserId);
  });
});

test('the profile of the one who is kept stays, and that of the other identity comes with it', async () => {
  const [mine, theirs] = [await newPerson(service), await newPerson(service)];
  const before = (await mine.account.show()).body;
  await merge(mine, 'mine', theirs.subject);
  const after = (await mine.account.show()).body;
  expect(after.created_at).toBe(before.created_at);
  expect(after.identities[0]).toEqual(before.identities[0]);
});

describe('the tokens of a provider that are kept for servers', () => {
  /** Two people, of whom the second has two identities. The merge proves the latter. */
  const twoPeople = async () => {
    const grants = newGrants({ rotates: true, lifetime: 1 });
    const keeper = await newKeeper(service, standIn, { grants });
    const [one, two] = [await keeper.logIn(), await keeper.logIn()];
    const linked = unique('linked');
    expect((await two.account.link(keeper.code(linked))).status).toBe(201);
    const [first = ''] = identityIdsOf(await two.account.show());
    const mergeTwo = () => sendMerge(service, one, { keep: 'mine', ...keeper.code(linked) });
    /** The statuses of exchanges of all tokens that one has. */
    const exchangeAll = async () => {
      const ids = identityIdsOf(await one.account.show());
      const answers = ids.map((identity_id) => keeper.exchangeFor(one.token, { identity_id }));
      return (await Promise.all(answers)).map(({ status }) => status);
    };
    return { ...keeper, one, two, first, mergeTwo, exchangeAll };
  };

  test('come with the identities: a server goes on with them', async () => {
    const { mergeTwo, exchangeAll } = await twoPeople();
    expect((await mergeTwo()).status).toBe(200);
    running.advance(5);
    expect(await exchangeAll()).toEqual([200, 200, 200]);
  });

  test('a refresh that is under way is waited for', async () => {
    const { two, first, mergeTwo, grants, exchangeFor, exchangeAll } = await twoPeople();
    let goOn = () => {};
    const waiting = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const started = new Promise<void>((resolve) => {
      grants.beforeRefresh = () => {
        resolve();
        return waiting;
      };
    });
    running.advance(5);
    const exchange = exchangeFor(two.token, { identity_id: first });
    await started;
    const merging = mergeTwo();
    goOn();
    expect((await exchange).status).toBe(200);
    expect((await merging).status).toBe(200);
    grants.beforeRefresh = async () => {};
    running.advance(10);
    expect(await exchangeAll()).toEqual([200, 200, 200]);
  });

  test('a refresh that does not end: 503 that says so, and both accounts stay', async () => {
    const { one, two, first, mergeTwo, exchangeFor } = await twoPeople();
    // The function dies when the turn is its own, which ends in the distant future.
    running.advance(1000);
    const takesTurn = ({ operation, body }: StoreCall): boolean =>
      operation === 'UpdateItem' && JSON.stringify(body).includes('refresh_until_of_');
    const exchange = await own.proxy.during(
      (call) => (takesTurn(call) ? 'fails after' : undefined),
      () => exchangeFor(two.token, { identity_id: first }),
    );
    expect(exchange.status).toBe(500);
    running.resetClock();
    expectError(await mergeTwo(), {
      status: 503,
      error: 'temporarily_unavailable',
      naming: /A server gets a token of a provider just now.*: send the request again/,
    });
    expect(identityIdsOf(await one.account.show())).toHaveLength(1);
    expect(identityIdsOf(await two.account.show())).toHaveLength(2);
  });
});

describe('after a merge', () => {
  test('a deletion of the one who is kept frees all identities, and no id comes back', async () => {
    const [mine, theirs] = [await newPerson(service), await newPerson(service)];
    await merge(mine, 'mine', theirs.subject);
    expect((await mine.account.remove()).status).toBe(204);
    const newcomers = [await service.logIn(mine.subject), await service.logIn(theirs.subject)];
    const ids = [...newcomers.map(subOf), mine.loginUserId, theirs.loginUserId];
    expect(new Set(ids).size).toBe(4);
  });

  test('an identity that came can be unlinked, and linked again', async () => {
    const [mine, theirs] = [await newPerson(service), await newPerson(service)];
    await merge(mine, 'mine', theirs.subject);
    const [, came = ''] = identityIdsOf(await mine.account.show());
    expect((await mine.account.unlink(came)).status).toBe(204);
    const newcomer = subOf(await service.logIn(theirs.subject));
    expect([mine.loginUserId, theirs.loginUserId]).not.toContain(newcomer);
    const again = await newPerson(service, theirs.subject);
    expect((await merge(mine, 'mine', again.subject)).body.merged_from).toBe(newcomer);
    expect(subOf(await service.logIn(theirs.subject))).toBe(mine.loginUserId);
  });

  test("a provider's notification about an identity that came is about the one who is kept", async () => {
    const [mine, theirs] = [await newPerson(service), await newPerson(service)];
    await merge(mine, 'mine', theirs.subject);
    const to = `${service.demo.base_url}/v2/marketing/providers/provider_f/notifications?login_app_id=${demoApp}`;
    const about = { event: 'account-disabled', reason: 'hijacking', subject: theirs.subject };
    const query = new URLSearchParams({ to, ...about });
    await fetch(`${service.demo.sandbox_url}/provider_f/notifications?${query}`, {
      method: 'POST',
    });
    const flags = { 'login-user': mine.loginUserId };
    const { login_user } = await service.operate('login-users', 'export', flags);
    expect(login_user).toMatchObject({ hijacked_at: expect.any(String) });
  });

  test('nothing is left of the one who is gone but the forward', async () => {
    const [mine, theirs] = [await newPerson(service), await newPerson(service)];
    await service.relate(await newPhone(service), theirs.token);
    await merge(mine, 'mine', theirs.subject);
    const left = await itemsAbout(own, theirs.loginUserId);
    expect(left).toHaveLength(1);
    expect(Object.keys(left[0] ?? {}).toSorted()).toEqual(
      [
        'created_by',
        'deleted_at',
        'login_app_id',
        'login_user_id',
        'merged_at',
        'merged_into',
        'next_slot',
        'pk',
        'sk',
        'write_id',
      ].toSorted(),
    );
  });

  test('a device that the index showed late is finished by the schedule', async () => {
    const [mine, theirs] = [await newPerson(service), await newPerson(service)];
    const phone = await newPhone(service);
    await service.relate(phone, theirs.token);
    // The function dies after the transaction.
    let writes = 0;
    const form = await mergeForm(service, 'mine', theirs.subject);
    const answer = await own.proxy.during(
      ({ operation }) => {
        if (operation === 'TransactWriteItems') writes += 1;
        const isLater = writes === 1 && ['UpdateItem', 'DeleteItem'].includes(operation);
        return isLater ? 'fails before' : undefined;
      },
      () => sendMerge(service, mine, form),
    );
    expect(answer.status).toBe(500);
    running.advance(601);
    await eventuallyPasses(async () => {
      await invokeFunction({ ...operatorOf(running.directory), name: 'finish-deletions' }, {});
      expect(await itemsAbout(own, theirs.loginUserId)).toHaveLength(1);
    });
    expect(await deviceIdsOf(service, await newPerson(service, mine.subject))).toEqual([phone]);
  });
});
