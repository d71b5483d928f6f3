import { afterEach, expect, test } from '@jest/globals';
import { itemsAbout } from '../support/items-about.ts';
import { merge, mergeForm, newPair, sendMerge } from '../support/merges.ts';
import {
  deviceIdsOf,
  eventuallyPasses,
  identityIdsOf,
  newPerson,
  newPersonWithPhone,
  subOf,
} from '../support/people.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import { isWrite, type StoreCall } from '../support/store-proxy.ts';

const own = await sharedServiceWithStore();
const { running, service } = own;
afterEach(() => running.resetClock());

test('a deletion of the one who is kept frees all identities, and no id comes back', async () => {
  const { mine, theirs } = await newPair(service);
  await merge(service, mine, 'mine', theirs.subject);
  expect((await mine.account.remove()).status).toBe(204);
  const newcomers = [await service.logIn(mine.subject), await service.logIn(theirs.subject)];
  const ids = [...newcomers.map(subOf), mine.loginUserId, theirs.loginUserId];
  expect(new Set(ids).size).toBe(4);
});

test('an identity that came can be unlinked, and linked again', async () => {
  const { mine, theirs } = await newPair(service);
  await merge(service, mine, 'mine', theirs.subject);
  const [, came = ''] = identityIdsOf(await mine.account.show());
  expect((await mine.account.unlink(came)).status).toBe(204);
  const newcomer = subOf(await service.logIn(theirs.subject));
  expect([mine.loginUserId, theirs.loginUserId]).not.toContain(newcomer);
  const again = await newPerson(service, theirs.subject);
  expect((await merge(service, mine, 'mine', again.subject)).body.merged_from).toBe(newcomer);
  expect(subOf(await service.logIn(theirs.subject))).toBe(mine.loginUserId);
});

test("a provider's notification about an identity that came is about the one who is kept", async () => {
  const { mine, theirs } = await newPair(service);
  await merge(service, mine, 'mine', theirs.subject);
  const to = `${service.demo.base_url}/v2/marketing/providers/provider_f/notifications?login_app_id=${service.demo.login_app.login_app_id}`;
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
  const mine = await newPerson(service);
  const theirs = await newPersonWithPhone(service);
  await merge(service, mine, 'mine', theirs.subject);
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
  const mine = await newPerson(service);
  const theirs = await newPersonWithPhone(service);
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
  // The schedule fails when it can't, and goes on the next time.
  const isOfMerge = (call: StoreCall): boolean =>
    isWrite(call) && JSON.stringify(call.body).includes(theirs.loginUserId);
  const failing = own.proxy.during(
    (call) => (isOfMerge(call) ? 'fails before' : undefined),
    () => service.runSchedule(),
  );
  await expect(failing).rejects.toThrow('1 could not be finished.');
  await eventuallyPasses(async () => {
    await service.runSchedule();
    expect(await itemsAbout(own, theirs.loginUserId)).toHaveLength(1);
  });
  expect(await deviceIdsOf(service, await newPerson(service, mine.subject))).toEqual([
    theirs.phone,
  ]);
});
