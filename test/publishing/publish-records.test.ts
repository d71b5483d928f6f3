import { afterAll, afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { StreamRecord } from '../../lib/publishing/changes.ts';
import { deliver } from '../dynamodb-local/follow-stream.ts';
import { type Arrived, problemsOf, startBusStandIn } from '../support/bus-stand-in.ts';
import { recordOf } from '../support/stream-records.ts';

const bus = await startBusStandIn();
afterAll(() => bus.close());
const { handler: publish } = await import('../../functions/publish-events.ts');
const handler = (event: unknown) => publish(event, { awsRequestId: 'r-1' });
const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
afterAll(() => written.mockRestore());
beforeEach(() => {
  bus.forget();
  written.mockClear();
});
afterEach(() => expect(bus.taken.flatMap(problemsOf)).toEqual([]));

const at = '2026-01-31T08:00:00.000Z';
const comment = (id: number, over: Record<string, unknown> = {}): StreamRecord =>
  recordOf(undefined, {
    pk: 'ACCESS_REQUEST#42',
    sk: `EVENT#${String(id).padStart(16, '0')}`,
    id,
    access_request_id: 42,
    type: 'comment',
    actor_type: 'custom',
    actor_id: 'x',
    comment: 'secret',
    created_at: at,
    updated_at: at,
    ...over,
  });
const comments = (count: number): StreamRecord[] =>
  Array.from({ length: count }, (_, place) => comment(place + 1));
const registered = {
  pk: 'DEVICE#d_1',
  sk: 'DEVICE',
  device_id: 'd_1',
  login_app_id: 'la_1',
  platform: 'ios',
  token: 'aa',
  created_at: at,
  last_seen_at: at,
};
const owned = (login_user_id: string) => ({
  ...registered,
  login_user_id,
  login_user_since: at,
  related_at: at,
});

const loginUser = (id = 'lu_1') => ({
  pk: `LOGIN_USER#${id}`,
  sk: 'LOGIN_USER',
  login_user_id: id,
  login_app_id: 'la_1',
  provider: 'provider_f',
  created_at: at,
  last_login_at: at,
});

const failure = { status: 500, type: 'InternalException' };
/** Has the bus answer so to each request with an event, and take all others. */
const failRequestsWith = (id: number, answer: typeof failure): void => {
  bus.decide = (entries) =>
    idsOf(entries).includes(id) ? answer : { errors: entries.map(() => undefined) };
};
/** Has the bus take each event but one. */
const failEntry = (id: number, error: string): void => {
  bus.decide = (entries) => ({
    errors: entries.map(({ Detail }) => (Detail.event_id === id ? error : undefined)),
  });
};
const idsOf = (entries: Arrived[]) => entries.map(({ Detail }) => Detail.event_id);
const byNumber = (a: unknown, b: unknown) => Number(a) - Number(b);
const sequenceOf = (record: StreamRecord | undefined) => ({
  itemIdentifier: String(record?.dynamodb.SequenceNumber),
});

describe('a batch', () => {
  test('does not tell of the person who logs in while a new version is tried out', async () => {
    const records = ['lu_probe-1', 'lu_1'].map((id) => recordOf(undefined, loginUser(id)));
    expect(await handler({ Records: records })).toEqual({ batchItemFailures: [] });
    expect(new Set(bus.taken.map(({ Detail }) => Detail.login_user_id))).toEqual(new Set(['lu_1']));
  });

  test('is published in requests of at most ten, in order, with the name of the bus and the time of the change', async () => {
    expect(await handler({ Records: comments(25) })).toEqual({ batchItemFailures: [] });
    expect(bus.requests.map((entries) => entries.length).toSorted()).toEqual([10, 10, 5]);
    expect(idsOf(bus.taken).toSorted(byNumber)).toEqual(
      Array.from({ length: 25 }, (_, place) => place + 1),
    );
    const first = bus.taken.find(({ Detail }) => Detail.event_id === 1);
    expect(first).toMatchObject({
      EventBusName: 'a-bus',
      Source: 'login-service',
      DetailType: 'event.added',
      Time: Date.UTC(2026, 0, 31, 8) / 1000,
    });
  });

  test('never has two events of an item in one request, since a part of a request may fail', async () => {
    const [first, second] = [recordOf(undefined, registered), comment(1)];
    await handler({ Records: [first, second, recordOf(owned('lu_1'), owned('lu_2'))] });
    expect(bus.requests.map((entries) => entries.map(({ DetailType }) => DetailType))).toEqual([
      ['device.registered', 'event.added'],
      ['device.relation_ended'],
      ['device.related'],
      ['device.moved'],
    ]);
    const sequences = bus.taken
      .filter(({ Detail }) => Detail.device_id)
      .map(({ Detail }) => Detail.sequence);
    expect(sequences).toEqual(sequences.toSorted());
  });

  test('is published in rounds: the first events of all items in full requests at the same time, then the second', async () => {
    const last = { last_session_id: 's_1', last_provider: 'provider_f' };
    const session = { ...last, sessions_begun: 1, session_places: 100 };
    const people = Array.from({ length: 25 }, (_, place) =>
      recordOf(undefined, { ...loginUser(`lu_${place}`), ...session }),
    );
    bus.delay = 50;
    expect(await handler({ Records: people })).toEqual({ batchItemFailures: [] });
    const requests = bus.requests.map((entries) => {
      const types = new Set(entries.map(({ DetailType }) => DetailType));
      return [...types, entries.length].join(' ');
    });
    const round = (type: string) => [`${type} 10`, `${type} 10`, `${type} 5`];
    // Those of a round arrive in any order.
    expect(requests.slice(0, 3).toSorted()).toEqual(round('login_user.created'));
    expect(requests.slice(3).toSorted()).toEqual(round('login_user.logged_in'));
    expect(bus.mostAtOnce).toBe(3);
  });

  test('of which one request fails: its round is tried whole, and no item gets ahead of itself', async () => {
    failRequestsWith(11, failure);
    const Records = [
      ...comments(20),
      recordOf(undefined, registered),
      recordOf(registered, owned('lu_1')),
    ];
    // The device is registered in the third request of the first round, and related in the second
    // round.
    expect(await handler({ Records })).toEqual({ batchItemFailures: [sequenceOf(Records[10])] });
    expect(bus.taken.map(({ DetailType }) => DetailType)).not.toContain('device.related');
    bus.forget();
    expect(await handler({ Records: Records.slice(10) })).toEqual({ batchItemFailures: [] });
    expect(bus.taken.at(-1)?.DetailType).toBe('device.related');
  });

  test('that comes again has the same ids; no two events share one', async () => {
    const Records = [...comments(3), recordOf(owned('lu_1'), owned('lu_2'))];
    await handler({ Records });
    await handler({ Records: structuredClone(Records) });
    const ids = bus.taken.map(({ Detail }) => Detail.id);
    expect(ids.slice(6)).toEqual(ids.slice(0, 6));
    expect(new Set(ids).size).toBe(6);
  });
});

describe('changes that the service makes without anything having happened', () => {
  const running = {
    pk: 'LOGIN_USER#lu_1',
    sk: 'SESSION#s_1',
    session_id: 's_1',
    login_user_id: 'lu_1',
    login_app_id: 'la_1',
    client_id: 'la_1.c_1',
    generation: 0,
    expires_at: 1_800_000_000,
  };
  const byTimeToLive = { userIdentity: { principalId: 'dynamodb.amazonaws.com' } };

  test.each([
    ['a session starts', recordOf(undefined, running)],
    [
      'a session is refreshed',
      recordOf(running, { ...running, generation: 1, expires_at: 1_800_000_100 }),
    ],
    ['a session is removed whose tokens were never issued', recordOf(running, undefined)],
    ['an ended session expires', recordOf({ ...running, ended_at: at }, undefined, byTimeToLive)],
    [
      'a device is seen again',
      recordOf(registered, { ...registered, last_seen_at: '2026-02-01T08:00:00.000Z' }),
    ],
    ['a device without an owner expires', recordOf(registered, undefined, byTimeToLive)],
    [
      'a write is repeated',
      recordOf({ ...registered, write_id: 'w_1' }, { ...registered, write_id: 'w_2' }),
    ],
    ['keys of an issuer are stored', recordOf(undefined, { pk: 'ISSUER#x', sk: 'KEYS' })],
    ['access is granted', recordOf(undefined, { pk: 'ACCESS_REQUEST#42', sk: 'ACCOUNT#ac_1' })],
  ])('%s: nothing is published', async (_, record) => {
    expect(await handler({ Records: [record] })).toEqual({ batchItemFailures: [] });
    expect({ requests: bus.requests, letters: bus.letters }).toEqual({ requests: [], letters: [] });
  });

  test('a session that expires ended when it expired, not when the table removed it', async () => {
    await handler({ Records: [recordOf(running, undefined, byTimeToLive)] });
    expect(bus.taken).toMatchObject([
      {
        DetailType: 'session.ended',
        Detail: { reason: 'expired', ended_at: '2027-01-15T08:00:00.000Z' },
      },
    ]);
  });

  test('a device that expires while it is related: its relation ends', async () => {
    await handler({ Records: [recordOf(owned('lu_1'), undefined, byTimeToLive)] });
    expect(bus.taken).toMatchObject([
      { DetailType: 'device.relation_ended', Detail: { login_user_id: 'lu_1' } },
    ]);
  });
});

test("an identity's item that leads to another Login User: identity.linked; no longer: identity.unlinked", async () => {
  const slot = { pk: 'LOGIN_USER#lu_2', sk: 'LOGIN_USER' };
  const linked = { ...slot, linked_to: 'lu_1', identity_id: 'i_1' };
  await handler({
    Records: [recordOf(undefined, linked), recordOf(linked, slot), recordOf(linked, undefined)],
  });
  expect(bus.taken).toMatchObject([
    { DetailType: 'identity.linked', Detail: { login_user_id: 'lu_1', identity_id: 'i_1' } },
    { DetailType: 'identity.unlinked', Detail: { login_user_id: 'lu_1', identity_id: 'i_1' } },
  ]);
});

test("a Login User who loses a provider's token that was kept: provider_access.ended; not at a refresh, and not of one to be revoked alone", async () => {
  const identity_id = `i_${'x'.repeat(22)}`;
  const attribute = `kept_token_of_${identity_id}`;
  const token = { provider: 'provider_f', token_secret: 'x' };
  const without = loginUser();
  const kept = { ...without, [attribute]: { ...token, since: at } };
  const aside = { ...without, [`${attribute}.w_1`]: { ...token, since: at } };
  const refreshed = { ...kept, [attribute]: { ...token, token_secret: 'y', since: at } };
  const toRevoke = { ...without, [attribute]: token };
  await handler({
    Records: [
      recordOf(without, kept),
      recordOf(kept, refreshed),
      recordOf(kept, aside),
      recordOf(aside, without),
      recordOf(kept, toRevoke),
      recordOf(toRevoke, without),
    ],
  });
  const detail = { identity_id, provider: 'provider_f', since: at };
  const ended = { DetailType: 'provider_access.ended', Detail: detail };
  expect(bus.taken).toMatchObject([ended, ended]);
  expect(JSON.stringify(bus.taken)).not.toContain('token');
});

test('a Login User whose item stays, with the time of their deletion: login_user.deleted, once', async () => {
  const deleted = { ...loginUser(), deleted_at: at };
  await handler({
    Records: [recordOf(loginUser(), deleted), recordOf(deleted, { ...deleted, next_slot: 'lu_3' })],
  });
  expect(bus.taken.map(({ DetailType }) => DetailType)).toEqual(['login_user.deleted']);
});

describe('while the bus is unavailable', () => {
  test.each([
    ['throttles', { status: 400, type: 'ThrottlingException' }],
    ['fails', failure],
    ['does not exist', { status: 400, type: 'ResourceNotFoundException' }],
    ['denies access', { status: 400, type: 'AccessDeniedException' }],
    ['is unknown to have failed so', { status: 400, type: 'SomethingNew' }],
    ['closes the connection', 'no answer'],
  ] as const)(
    'it %s: the batch is repeated whole, and nothing is a dead letter',
    async (_, answer) => {
      bus.decide = () => answer;
      const Records = comments(12);
      expect(await handler({ Records })).toEqual({ batchItemFailures: [sequenceOf(Records[0])] });
      expect(bus.letters).toEqual([]);
    },
  );

  test.each(['ThrottlingException', 'InternalFailure', 'NotAuthorizedForSourceException'])(
    'it takes a part, and has %s for an entry: the batch is repeated from that record on',
    async (error) => {
      failEntry(14, error);
      const Records = comments(25);
      expect(await handler({ Records })).toEqual({ batchItemFailures: [sequenceOf(Records[13])] });
      expect(bus.letters).toEqual([]);
      // Those behind it are published too, being of other items, and come again.
      expect(idsOf(bus.taken)).toHaveLength(24);
    },
  );

  test('an hour of it loses nothing, and keeps the order of each item', async () => {
    const Records = [
      recordOf(undefined, registered),
      ...comments(30),
      recordOf(registered, owned('lu_1')),
    ];
    // Lambda repeats a failed batch for as long as the stream has it; 40 refused calls stand for
    // that hour.
    let calls = 0;
    bus.decide = (entries) => {
      calls += 1;
      if (calls <= 40) return failure;
      const isThrottled = calls % 3 === 0;
      return {
        errors: entries.map((_, place) =>
          isThrottled && place === 4 ? 'ThrottlingException' : undefined,
        ),
      };
    };
    await deliver(Records, handler, new AbortController().signal, 1);
    const firsts = new Map(
      bus.taken.map(({ DetailType, Detail }) => [Detail.id, `${DetailType} ${Detail.event_id}`]),
    );
    const added = comments(30).map((_, place) => `event.added ${place + 1}`);
    const expected = ['device.registered undefined', 'device.related undefined', ...added];
    expect([...firsts.values()].toSorted()).toEqual(expected.toSorted());
    const ofDevice = bus.taken
      .filter(({ Detail }) => Detail.device_id)
      .map(({ DetailType }) => DetailType);
    expect(ofDevice.indexOf('device.registered')).toBeLessThan(ofDevice.indexOf('device.related'));
    expect(bus.letters).toEqual([]);
  });
});

describe('a record that can never be published', () => {
  test('because its item is not as the service writes it: a dead letter without the item; the others are published', async () => {
    const broken = comment(3, { type: 'secret verdict' });
    const Records = [comment(1), broken, comment(2), comment(4)];
    expect(await handler({ Records })).toEqual({ batchItemFailures: [] });
    expect(idsOf(bus.taken)).toEqual([1, 2, 4]);
    expect(bus.letters).toEqual([
      {
        record_id: broken.eventID,
        change: 'INSERT',
        sequence_number: broken.dynamodb.SequenceNumber,
        key: { pk: 'ACCESS_REQUEST#42', sk: 'EVENT#0000000000000003' },
        reason: 'ValiError',
      },
    ]);
    expect(JSON.stringify([bus.letters, written.mock.calls])).not.toContain('secret');
    expect(String(written.mock.calls[0])).toContain(`"record_id":"${broken.eventID}"`);
  });

  test.each(['MalformedDetail', 'InvalidArgument', 'RedactionFailure'])(
    'because EventBridge calls an entry %s: it is tried by itself, then a dead letter with the event',
    async (error) => {
      failEntry(3, error);
      expect(await handler({ Records: comments(5) })).toEqual({ batchItemFailures: [] });
      expect(idsOf(bus.taken)).toEqual([1, 2, 4, 5]);
      expect(bus.requests.map(idsOf)).toEqual([[1, 2, 3, 4, 5], [3]]);
      expect(bus.letters).toMatchObject([
        { reason: error, type: 'event.added', detail: { access_request_id: 42, event_id: 3 } },
      ]);
    },
  );

  test('because the request with it is invalid: each is tried by itself', async () => {
    failRequestsWith(3, { status: 400, type: 'ValidationException' });
    expect(await handler({ Records: comments(5) })).toEqual({ batchItemFailures: [] });
    expect(idsOf(bus.taken)).toEqual([1, 2, 4, 5]);
    expect(bus.letters).toMatchObject([{ reason: 'ValidationException', detail: { event_id: 3 } }]);
  });

  test('is repeated as long as the dead-letter queue does not take it', async () => {
    bus.queueIsUp = false;
    const Records = [comment(1), comment(2, { type: 'verdict' }), comment(3)];
    expect(await handler({ Records })).toEqual({ batchItemFailures: [sequenceOf(Records[1])] });
    bus.queueIsUp = true;
    expect(await handler({ Records: Records.slice(1) })).toEqual({ batchItemFailures: [] });
    expect(bus.letters).toHaveLength(1);
  });

  test('is no dead letter yet when the batch is repeated from a record before it', async () => {
    bus.decide = () => failure;
    const Records = [comment(1), comment(2, { type: 'verdict' })];
    expect(await handler({ Records })).toEqual({ batchItemFailures: [sequenceOf(Records[0])] });
    expect(bus.letters).toEqual([]);
  });
});
