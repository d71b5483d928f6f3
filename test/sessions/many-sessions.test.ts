import { QueryCommand } from '@aws-sdk/client-dynamodb';
import { describe, expect, test } from '@jest/globals';
import { loginUserPartition } from '../../lib/storage/keys.ts';
import { expectError } from '../support/expectations.ts';
import { deviceIdsOf, newPerson, newPersonWithPhone, type Person } from '../support/people.ts';
import { unique } from '../support/service.ts';
import { sharedServiceWithStore, startServiceWithStore } from '../support/store-and-service.ts';
import type { StoreCall } from '../support/store-proxy.ts';

const {
  service,
  proxy,
  dynamoDb,
  tableName: TableName,
} = await startServiceWithStore({ MAX_SESSIONS: '3' });
const many = await sharedServiceWithStore();

const statusOf = async ({ account }: Person) => (await account.show()).status;
const refresh = ({ refreshToken }: Person) => service.refresh(refreshToken);

/** Logs a person in again, one login after the other. */
async function logInAgain(subject: string, times: number, on = service): Promise<Person[]> {
  const people: Person[] = [];
  for (let time = 0; time < times; time += 1) people.push(await newPerson(on, subject));
  return people;
}

/** The items of a person's sessions. */
async function storedSessions({ loginUserId }: Person) {
  const { Items = [] } = await dynamoDb.send(
    new QueryCommand({
      TableName,
      KeyConditionExpression: 'pk = :pk AND begins_with(sk, :sk)',
      ExpressionAttributeValues: {
        ':pk': { S: loginUserPartition(loginUserId) },
        ':sk': { S: 'SESSION#' },
      },
    }),
  );
  return Items;
}

describe('with at most 3 open sessions', () => {
  test('one more ends the oldest, with the relation of its phone; nothing else grows', async () => {
    const first = await newPersonWithPhone(service);
    const [second, third, fourth] = await logInAgain(first.subject, 3);
    if (!second || !third || !fourth) throw new Error('There are three.');
    const statuses = await Promise.all([first, second, third, fourth].map(statusOf));
    expect(statuses).toEqual([401, 200, 200, 200]);
    expectError(await refresh(first), { status: 400, error: 'invalid_grant', naming: /not valid/ });
    expect(await deviceIdsOf(service, fourth)).toEqual([]);
    expect((await fourth.account.sessions()).body.sessions).toHaveLength(3);
    expect(await storedSessions(first)).toHaveLength(3);
  });

  test('a token of an ended session ends nothing of the one that has its place', async () => {
    const first = await newPerson(service);
    const [, , fourth] = await logInAgain(first.subject, 3);
    if (!fourth) throw new Error('There are three.');
    await service.revoke(first.refreshToken);
    expect((await fourth.account.endSession(first.sessionId)).status).toBe(404);
    expect(await statusOf(fourth)).toBe(200);
  });

  test('six logins at once: three sessions', async () => {
    const { subject, ...person } = await newPerson(service);
    await Promise.all(Array.from({ length: 6 }, () => newPerson(service, subject)));
    expect(await storedSessions({ subject, ...person })).toHaveLength(3);
  });
});

describe('a logout of all', () => {
  test.each(['', '?except=current'])(
    'costs the same for 2 sessions and for 40: %s',
    async (query) => {
      const callsFor = async (sessions: number) => {
        const first = await newPerson(many.service);
        await logInAgain(first.subject, sessions - 1, many.service);
        many.proxy.forget();
        expect((await first.account.endSessions(query)).status).toBe(204);
        return many.proxy.calls().map(({ operation }) => operation);
      };
      await callsFor(1);
      const calls = await callsFor(2);
      expect(calls).toEqual(['BatchGetItem', 'Query', 'UpdateItem']);
      expect(await callsFor(40)).toEqual(calls);
    },
  );

  test('ends those that have begun, and none that begins at once afterwards', async () => {
    const first = await newPerson(many.service);
    const [second] = await logInAgain(first.subject, 1, many.service);
    await first.account.endSessions('?except=current');
    const [third] = await logInAgain(first.subject, 1, many.service);
    if (!second || !third) throw new Error('There is one.');
    const statuses = () => Promise.all([first, second, third].map(statusOf));
    expect(await statuses()).toEqual([200, 401, 200]);
    await third.account.endSessions('?except=current');
    expect(await statuses()).toEqual([401, 401, 200]);
    const flags = { 'login-user': first.loginUserId };
    expect(await many.service.operate('sessions', 'list', flags)).toMatchObject({
      sessions: [{ session_id: third.sessionId }],
    });
    expect(await many.service.operate('login-users', 'logout', flags)).toMatchObject({
      sessions_ended: 1,
    });
    expect(await many.service.operate('login-users', 'show', flags)).toMatchObject({
      active_sessions: 0,
    });
    const { sessions } = await many.service.operate('login-users', 'export', flags);
    expect(sessions).toEqual(
      Array(3).fill(expect.objectContaining({ ended_at: expect.any(String) })),
    );
  });
});

describe('a login that fails with a 500', () => {
  test.each([
    ['the Login User cannot be written', 'UpdateItem', 'fails before'],
    ['the session cannot be written', 'PutItem', 'fails before'],
    ['the write of the session is not answered', 'PutItem', 'fails after'],
  ] as const)('leaves no session: %s', async (_, failing, fault) => {
    const person = await newPerson(service);
    const fail = ({ operation }: StoreCall) => (operation === failing ? fault : undefined);
    expect((await proxy.during(fail, () => service.logIn(person.subject))).status).toBe(500);
    expect((await person.account.sessions()).body.sessions).toHaveLength(1);
  });
});

test('the list in pages: each session once, in the order of the whole list', async () => {
  const { token, subject } = await newPerson(many.service, unique('alice'));
  await logInAgain(subject, 4, many.service);
  const list = (query: string) =>
    many.service.call(`/v2/marketing/login/user/sessions${query}`, {
      headers: { authorization: `Bearer ${token}` },
    });
  const whole = (await list('')).body;
  expect(whole).toEqual({ sessions: expect.any(Array) });
  const one = (await list('?limit=2')).body;
  const two = (await list(`?limit=2&cursor=${one.next_cursor}`)).body;
  const three = (await list(`?limit=2&cursor=${two.next_cursor}`)).body;
  expect([...one.sessions, ...two.sessions, ...three.sessions]).toEqual(whole.sessions);
  expect(three).not.toHaveProperty('next_cursor');
  for (const query of ['?limit=0', '?limit=101', '?cursor=x', '?limit=1&limit=1', '?page=1']) {
    expectError(await list(query), { status: 400, error: 'invalid_request' });
  }
});
