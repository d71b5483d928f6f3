import { QueryCommand } from '@aws-sdk/client-dynamodb';
import { expect, test } from '@jest/globals';
import type { AccessRequest } from '../../lib/access-requests/access-request.ts';
import { entryOf } from '../../lib/access-requests/account-lists.ts';
import {
  accessKey,
  accessRequestKey,
  dueAccessRequestsShard,
  listEntryKey,
} from '../../lib/storage/keys.ts';
import { createAccount } from '../support/login-app.ts';
import { writeItems } from '../support/many-events.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import type { StoreCall } from '../support/store-proxy.ts';

const own = await startServiceWithStore({}, { movableClock: true });
const { service, proxy, running } = own;

type Account = Awaited<ReturnType<typeof createAccount>>;
const created_at = '2026-01-31T08:00:00.000Z';
const decided = { decision: 'approved', decided_at: created_at } as const;

/** The items of an access request, as the service writes them. */
function itemsOf(request: AccessRequest): Record<string, unknown>[] {
  const { access_request_id: id, account_id, open_until } = request;
  const isDue = open_until !== undefined && request.decision === undefined;
  const place = isDue ? { shard: dueAccessRequestsShard, shard_position: open_until } : {};
  const access = { access_request_id: id, account_id, granted_at: created_at };
  return [
    { ...accessRequestKey(id), ...request, ...place },
    { ...accessKey(id, account_id), ...access },
    { ...listEntryKey(account_id, id), ...entryOf(request) },
  ];
}

/**
 * Fills the table with access requests of an account, without the time that creating each would
 * take.
 * @param isRead of which there is more than the entry in the lists
 */
const fill = (requests: AccessRequest[], isRead: (place: number) => boolean = () => true) =>
  writeItems(
    own.dynamoDb,
    own.tableName,
    requests.flatMap((request, place) =>
      isRead(place) ? itemsOf(request) : itemsOf(request).slice(-1),
    ),
  );

/** How many access requests expire in the next minutes, or have expired and are not settled. */
async function readDue(): Promise<number> {
  const soon = new Date(Date.now() + 600_000).toISOString();
  const { Count = 0 } = await own.dynamoDb.send(
    new QueryCommand({
      TableName: own.tableName,
      IndexName: 'by_shard',
      KeyConditionExpression: '#shard = :due AND shard_position < :soon',
      ExpressionAttributeNames: { '#shard': 'shard' },
      ExpressionAttributeValues: { ':due': { S: dueAccessRequestsShard }, ':soon': { S: soon } },
      Select: 'COUNT',
    }),
  );
  return Count;
}

const requestsOf = (
  { account_id }: Account,
  [first, size]: readonly [first: number, size: number],
  fieldsOf: (place: number) => Partial<AccessRequest>,
): AccessRequest[] =>
  Array.from({ length: size }, (_, place) => ({
    access_request_id: first + place,
    account_id,
    created_at,
    approvals_needed: 1,
    ...fieldsOf(place),
  }));

/** A search with what it cost. The account is read before. */
async function measure(query: string, account: Account) {
  await service.accessRequests('?page_size=1', account);
  proxy.forget();
  const { status, body } = await service.accessRequests(query, account);
  expect(status).toBe(200);
  const calls = proxy.calls().map(({ operation }) => operation);
  const units = proxy.calls().reduce((sum, call) => sum + call.units, 0);
  return { body, calls, units, ids: body.results.map(({ id }: { id: number }) => id) };
}

test('after 3,000 creations, a search makes 3 calls to the store, of an account that was not read before', async () => {
  const account = await createAccount(service);
  await fill(requestsOf(account, [1_000_000, 3_000], () => ({})));
  proxy.forget();
  const { body } = await service.accessRequests('', account);
  expect(body.results).toHaveLength(8);
  expect(proxy.calls().map(({ operation }) => operation)).toEqual([
    'GetItem',
    'Query',
    'BatchGetItem',
  ]);
});

test('of 1,500 that expire at once, a search reads a page and writes nothing', async () => {
  const account = await createAccount(service);
  const open_until = new Date(Date.now() + 3_600_000).toISOString();
  const requests = requestsOf(account, [2_000_000, 1_500], () => ({ open_until }));
  await fill([...requests, ...requestsOf(account, [2_100_000, 1], () => ({}))]);
  running.advance(3_601);
  const all = await measure('', account);
  expect(all.calls).toEqual(['Query', 'BatchGetItem']);
  expect(all.body.results.at(-1)).toMatchObject({ decision: 'expired' });
  const pending = await measure('?decision=pending', account);
  expect(pending).toMatchObject({ ids: [2_100_000] });
  expect(pending.calls).toEqual(['Query', 'Query', 'BatchGetItem']);
  running.resetClock();
});

test('all that expire at once are settled, page by page, though one fails', async () => {
  const account = await createAccount(service);
  const open_until = new Date(Date.now() + 100_000).toISOString();
  await fill(requestsOf(account, [6_000_000, 250], () => ({ open_until })));
  running.advance(101);
  const expire = () => service.runSchedule();
  const isFirst = ({ operation, body }: StoreCall) =>
    operation === 'TransactWriteItems' && JSON.stringify(body).includes('ACCESS_REQUEST#6000000"');
  const hook = (call: StoreCall) => (isFirst(call) ? ('fails before' as const) : undefined);
  await expect(proxy.during(hook, expire)).rejects.toThrow();
  expect(await readDue()).toBe(1);
  await expire();
  expect(await readDue()).toBe(0);
  const first = await measure('?decision=expired&order=oldest', account);
  expect(first.ids[0]).toBe(6_000_000);
  expect(await measure('?decision=pending', account)).toMatchObject({ ids: [], calls: ['Query'] });
  running.resetClock();
});

test('any filter costs of 20,000 what it costs of 2,000, and no search reads more than two parts of a list', async () => {
  /**
   * Every tenth is pending, every fifth by a person; one person requested three, and one every
   * second.
   */
  const fieldsOf = (place: number): Partial<AccessRequest> => ({
    requested_by: {
      actor_type: place % 5 === 0 ? 'login_user' : 'custom',
      actor_id: place % 800 === 7 ? 'rare' : `somebody-${place % 2}`,
    },
    reference: `case-${place}`,
    ...(place % 10 === 0 ? {} : decided),
  });
  const [small, large] = [await createAccount(service), await createAccount(service)];
  for (const [account, first, size] of [
    [small, 3_000_000, 2_000],
    [large, 4_000_000, 20_000],
  ] as const) {
    const isRead = (place: number) => place < 50 || place >= size - 50 || place % 800 === 7;
    await fill(requestsOf(account, [first, size], fieldsOf), isRead);
  }
  const filters = [
    '',
    '&decision=pending',
    '&decision=approved',
    '&decision=none',
    '&requested_by_type=login_user',
    '&requested_by_id=somebody-1',
    '&requested_by_id=rare',
    '&requested_by_id=nobody',
    '&reference=case-7',
    '&decision=approved&requested_by_type=login_user',
    '&decision=pending&requested_by_id=somebody-1',
    '&decision=pending&requested_by_id=rare&requested_by_type=login_user',
    '&requested_by_type=login_user&requested_by_id=rare',
  ];
  for (const filter of filters)
    for (const order of ['newest', 'oldest']) {
      const query = `?page_size=5&order=${order}${filter}`;
      const [few, many] = [await measure(query, small), await measure(query, large)];
      expect(many.calls.length).toBeLessThanOrEqual(3);
      // 500 entries are about 60 units, a page of 5 access requests with their accesses is 10.
      expect(many.units).toBeLessThanOrEqual(90);
      expect(many.units - few.units).toBeLessThanOrEqual(10);
    }
});

test('a rare combination is found by going on, on pages that may be empty', async () => {
  const account = await createAccount(service);
  const requested_by = (place: number) => ({
    actor_type: place === 1_500 ? ('login_user' as const) : ('custom' as const),
    actor_id: 'ann',
  });
  await fill(
    requestsOf(account, [5_000_000, 3_000], (place) => ({ requested_by: requested_by(place) })),
  );
  const found: number[] = [];
  let pages = 0;
  for (let cursor = ''; ; pages += 1) {
    const { ids, body } = await measure(
      `?requested_by_type=login_user&decision=pending${cursor}`,
      account,
    );
    found.push(...ids);
    if (!body.next_cursor) break;
    cursor = `&cursor=${body.next_cursor}`;
  }
  expect(found).toEqual([5_001_500]);
  expect(pages).toBeLessThanOrEqual(6);
});
