import { createHash } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { afterEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { invokeFunction } from '../../infra/invoke-function.ts';
import { itemsAbout } from '../support/items-about.ts';
import { createAccount } from '../support/login-app.ts';
import { operatorOf, unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import type { Fault } from '../support/store-proxy.ts';

const own = await startServiceWithStore({}, { movableClock: true });
const { service, proxy, running } = own;
afterEach(() => running.resetClock());

/** Of the calls in turn, and of the histories, a slower store gets one of these: enough to show that it does the same. */
const oneOf = process.env.DYNAMODB_ENDPOINT ? 4 : 1;

type Account = Awaited<ReturnType<typeof createAccount>>;
interface Shown {
  id: number;
  decision: string;
  requested_by?: { actor_type: string; actor_id: string };
  reference?: string;
}

const refresh = () =>
  invokeFunction({ ...operatorOf(running.directory), name: 'refresh-access-requests' }, {});
const actors = ['ann', 'bob', 'cem', 'dua'];
const isoIn = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();

/** Everything that an account has access to, by asking for each access request. */
async function truth(ids: number[], account: Account): Promise<Shown[]> {
  const answers = await Promise.all(ids.map((id) => service.accessRequests(`/${id}`, account)));
  return answers
    .filter(({ status }) => status === 200)
    .map(({ body: { last_event_id: _, ...shown } }) => shown);
}

/** Pages of a search, put together. */
async function found(query: string, account: Account): Promise<{ total: number; results: Shown[] }> {
  const results: Shown[] = [];
  for (let page = 1; ; page += 1) {
    const { body } = await service.accessRequests(`?page_size=5&page=${page}&order=oldest${query}`, account);
    results.push(...body.results);
    if (body.count < 5) return { total: body.total, results };
  }
}

type Filter = [query: string, matches: (shown: Shown) => boolean];
const byDecision = (decision: string): Filter => [
  `&decision=${decision}`,
  (shown) => shown.decision === decision,
];
const filters: Filter[] = [
  ['', () => true],
  ...'none pending approved rejected expired'.split(' ').map(byDecision),
  ['&requested_by_type=custom', ({ requested_by }) => requested_by?.actor_type === 'custom'],
  ['&requested_by_id=ann', ({ requested_by }) => requested_by?.actor_id === 'ann'],
  [
    '&requested_by_id=ann&requested_by_type=custom&decision=approved',
    ({ requested_by: by, decision }) =>
      by?.actor_id === 'ann' && by.actor_type === 'custom' && decision === 'approved',
  ],
  ['&reference=case-1', ({ reference }) => reference === 'case-1'],
];

/** Whether every search finds exactly what there is. The searches come first, since a look at an access request settles it. */
async function expectTruth(ids: () => Promise<number[]>, account: Account): Promise<void> {
  const searched = await Promise.all(filters.map(([query]) => found(query, account)));
  const all = await truth(await ids(), account);
  const expected = filters.map(([, matches]) => all.filter(matches));
  expect(searched).toEqual(expected.map((results) => ({ total: results.length, results })));
}

async function idsFrom(first: number): Promise<number[]> {
  const last = (await service.createAccessRequest({ account: service.demo.other_account })).body.id;
  return Array.from({ length: last - first }, (_, place) => first + place);
}

const marksOf = async ({ account_id }: Account) =>
  (await itemsAbout(own, account_id)).filter(({ sk }) => /^(CHANGE|DUE)#/.test(String(sk)));

const step = fc.oneof(
  fc.record({
    does: fc.constant('create' as const),
    approvals_needed: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
    requester: fc.option(fc.constantFrom(...actors), { nil: undefined }),
    self_review: fc.boolean(),
    expires: fc.option(fc.integer({ min: 30, max: 400 }), { nil: undefined, freq: 2 }),
    reference: fc.option(fc.constantFrom('case-1', 'case-2'), { nil: undefined, freq: 2 }),
    type: fc.constantFrom('custom', 'login_user'),
  }),
  fc.record({
    does: fc.constant('review' as const),
    which: fc.nat(9),
    actor: fc.constantFrom(...actors),
    status: fc.constantFrom('approved', 'approved', 'approved', 'rejected'),
  }),
  fc.record({ does: fc.constantFrom('grant' as const, 'revoke' as const), which: fc.nat(9) }),
  fc.record({ does: fc.constant('refresh' as const) }),
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

/** Does a step; whether it succeeds is nobody's business here. */
async function run(one: Step, made: number[], account: Account, other: Account): Promise<void> {
  if (one.does === 'create') {
    const body = {
      approvals_needed: one.approvals_needed,
      self_review: one.self_review,
      reference: one.reference,
      requested_by: one.requester && { actor_type: one.type, actor_id: one.requester },
      expires_at: one.expires && isoIn(one.expires),
    };
    const { status, body: created } = await service.createAccessRequest({ account, body });
    if (status === 201) made.push(created.id);
    return;
  }
  // What is listed already has no mark left that would hide an omission.
  if (one.does === 'refresh') return void (await refresh().catch(() => {}));
  const id = made.at(-1 - one.which);
  if (id === undefined) return;
  if (one.does === 'review') {
    const body = { actor_type: 'custom', actor_id: one.actor, status: one.status };
    await service.addEvent('reviews', body, { id, account });
    return;
  }
  const flags = { 'access-request': id, account: other.account_id };
  await service.operate('access-requests', one.does, flags).catch(() => {});
}

describe('after any history, every search finds what there is', () => {
  test.each([
    ['one after the other', 0],
    ['and at once, with calls to the store that fail', 0.04],
  ])('%s', async (_, faulty) => {
    const faults: Fault[] = ['fails before', 'fails after', 'answer lost'];
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 5 }),
        fc.array(fc.integer({ min: 0, max: 90 }), { minLength: 5, maxLength: 5 }),
        fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
        async (bursts, pauses, chance) => {
          running.resetClock();
          const [account, other] = [await createAccount(service), await createAccount(service)];
          const first = (await service.createAccessRequest({ account })).body.id;
          const made = [first];
          let seconds = 0;
          for (const [place, burst] of bursts.entries()) {
            proxy.hook = () => {
              const drawn = chance.next().value;
              return drawn < faulty ? faults[Math.floor((drawn / faulty) * faults.length)] : undefined;
            };
            if (faulty > 0) await Promise.all(burst.map((one) => run(one, made, account, other)));
            else for (const one of burst) await run(one, made, account, other);
            proxy.hook = () => undefined;
            if (place % 2 === 1) await refresh();
            seconds += pauses[place] ?? 0;
            running.advance(seconds);
            for (const one of [account, other]) await expectTruth(() => idsFrom(first), one);
          }
          running.advance(1_000);
          await refresh();
          for (const one of [account, other]) {
            expect(await marksOf(one)).toEqual([]);
            await expectTruth(() => idsFrom(first), one);
          }
        },
      ),
      { numRuns: 8 / oneOf },
    );
  });
});

describe('a writer', () => {
  const body = { approvals_needed: 1, requested_by: { actor_type: 'custom', actor_id: 'ann' } };
  const review = { actor_type: 'custom', actor_id: 'bob', status: 'approved' };

  /** Does something of an account with an access request that is listed and has no mark. */
  async function act(does: 'creates' | 'reviews' | 'revokes', id: number, account: Account): Promise<void> {
    if (does === 'creates') await service.createAccessRequest({ account, body });
    else if (does === 'reviews') await service.addEvent('reviews', review, { id, account });
    else {
      const flags = { 'access-request': id, account: account.account_id };
      await service.operate('access-requests', 'revoke', flags).catch(() => {});
    }
  }

  test.each(
    (['creates', 'reviews', 'revokes'] as const).flatMap((does) =>
      (['fails before', 'fails after', 'meets a refresh', 'comes to a refresh'] as const).map(
        (what) => [does, what] as const,
      ),
    ),
  )('while it %s, and each call in turn %s, leaves lists that are right', async (does, what) => {
    for (let number = 0; ; number += oneOf) {
      const account = await createAccount(service);
      const { id } = (await service.createAccessRequest({ account, body })).body;
      await refresh();
      expect(await marksOf(account)).toEqual([]);
      // Something to do for a refresh.
      if (what === 'comes to a refresh') await service.createAccessRequest({ account, body });
      let seen = 0;
      let isUnderWay = false;
      proxy.hook = async () => {
        if (isUnderWay || seen++ !== number) return undefined;
        if (what === 'fails before' || what === 'fails after') return what;
        isUnderWay = true;
        await (what === 'meets a refresh' ? refresh() : act(does, id, account));
        isUnderWay = false;
        return undefined;
      };
      await (what === 'comes to a refresh' ? refresh() : act(does, id, account));
      proxy.hook = () => undefined;
      await expectTruth(() => idsFrom(id), account);
      running.advance(61);
      await refresh();
      expect(await marksOf(account)).toEqual([]);
      await expectTruth(() => idsFrom(id), account);
      running.resetClock();
      if (seen <= number) break;
    }
  });

  test('after it has claimed a reference, keeps it for a minute', async () => {
    const reference = unique('case');
    const create = () => service.createAccessRequest({ body: { reference } });
    proxy.hook = ({ operation, body }) =>
      operation === 'PutItem' && JSON.stringify(body).includes('CHANGE#') ? 'fails before' : undefined;
    expect((await create()).status).toBe(500);
    proxy.hook = () => undefined;
    expect((await create()).status).toBe(409);
    running.advance(61);
    expect((await create()).status).toBe(201);
    expect((await create()).status).toBe(409);
  });
});

test('twenty approvals at once decide with exactly as many as are needed', async () => {
  const account = await createAccount(service);
  const { id } = (await service.createAccessRequest({ account, body: { approvals_needed: 7 } })).body;
  const add = async (actor: number): Promise<number> => {
    const body = { actor_type: 'custom', actor_id: `${actor}`, status: 'approved' };
    const { status } = await service.addEvent('reviews', body, { id, account });
    return status === 503 ? add(actor) : status;
  };
  await Promise.all(Array.from({ length: 20 }, (_, actor) => add(actor)));
  const { body } = await service.accessRequests(`/${id}`, account);
  expect(body).toMatchObject({ decision: 'approved', approvals: 7, last_event_id: 20 });
  const { body: seventh } = await service.search('?ids=7', { id, account });
  expect(body.decided_at).toBe(seventh.results[0].created_at);
  await expectTruth(() => idsFrom(id), account);
});

describe('of 100,000 access requests', () => {
  const size = 100_000;
  const put = (item: object) =>
    own.dynamoDb.send(new PutItemCommand({ TableName: own.tableName, Item: marshall(item) }));
  /** A third of them, in no order. */
  const isPending = (id: number) => createHash('md5').update(`${id}`).digest().readUInt8() % 3 === 0;
  const padded = (number: number) => String(number).padStart(16, '0');

  /** Writes an account's list of so many ids, and the access requests of some pages. */
  async function fill(account: Account, first: number, count: number): Promise<void> {
    const blocks = new Map<number, Uint8Array>();
    for (let id = first; id < first + count; id += 1) {
      const block = Math.floor(id / 4096);
      const codes = blocks.get(block) ?? new Uint8Array(4096);
      codes[id % 4096] = isPending(id) ? 2 : 3;
      blocks.set(block, codes);
    }
    for (const [block, codes] of blocks)
      for (const list of ['ALL', 'TYPE#custom'])
        await put({
          pk: `ACCESS_REQUESTS_OF#${account.account_id}`,
          sk: `LIST#${list}#${padded(block)}`,
          codes: deflateRawSync(codes).toString('base64'),
          revision: 1,
        });
    for (const start of [first, first + count / 2, first + count - 30])
      for (let id = start; id < start + 30; id += 1) {
        const pk = `ACCESS_REQUEST#${id}`;
        const { account_id } = account;
        const common = { access_request_id: id, account_id, created_at: isoIn(0) };
        const decided = isPending(id) ? {} : { decision: 'approved', decided_at: isoIn(0) };
        await put({ pk, sk: 'ACCESS_REQUEST', ...common, approvals_needed: 1, ...decided });
        await put({ pk, sk: `ACCOUNT#${account_id}`, ...common, granted_at: isoIn(0) });
      }
  }

  test('every page costs the same, and hardly more than of 90; the total is exact', async () => {
    const [large, small] = [await createAccount(service), await createAccount(service)];
    await fill(large, 5_000_000, size);
    await fill(small, 6_000_000, 90);
    const measure = async (account: Account, query: string) => {
      await service.accessRequests('?page_size=1', account);
      proxy.forget();
      const { body } = await service.accessRequests(query, account);
      const units = proxy.calls().reduce((sum, call) => sum + call.units, 0);
      return { body, calls: proxy.calls().length, units };
    };
    const pendingOf = (first: number, count: number) =>
      Array.from({ length: count }, (_, place) => first + place).filter(isPending).length;
    for (const [filter, total] of [
      ['', size],
      ['&decision=pending', pendingOf(5_000_000, size)],
      ['&decision=approved&requested_by_type=custom', size - pendingOf(5_000_000, size)],
    ] as const) {
      const least = await measure(small, `?page_size=5${filter}`);
      expect(least.body.count).toBe(5);
      const units = new Set<number>();
      for (const order of ['newest', 'oldest'])
        for (const page of [1, Math.floor(total / 5)]) {
          const one = await measure(large, `?page_size=5&page=${page}&order=${order}${filter}`);
          expect(one.body).toMatchObject({ total, count: 5 });
          expect(one.calls).toBe(least.calls);
          units.add(one.units);
        }
      expect(units.size).toBe(1);
      expect(Math.max(...units) - least.units).toBeLessThanOrEqual(8);
    }
  });
});
