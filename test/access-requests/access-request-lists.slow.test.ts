import { afterEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createAccount } from '../support/login-app.ts';
import { unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import { type Fault, failing } from '../support/store-proxy.ts';

const own = await startServiceWithStore({}, { movableClock: true });
const { service, proxy, running } = own;
const { operate } = service;
afterEach(() => running.resetClock());

/**
 * Of the calls in turn, and of the histories, a slower store gets one of these: enough to show that
 * it does the same.
 */
const oneOf = process.env.DYNAMODB_ENDPOINT ? 4 : 1;

type Account = Awaited<ReturnType<typeof createAccount>>;
interface Shown {
  id: number;
  decision: string;
  requested_by?: { actor_type: string; actor_id: string };
  reference?: string;
}

const expire = () => service.runSchedule();
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
async function found(query: string, account: Account): Promise<Shown[]> {
  const results: Shown[] = [];
  for (let cursor = ''; ; ) {
    const { body } = await service.accessRequests(
      `?page_size=5&order=oldest${query}${cursor}`,
      account,
    );
    results.push(...body.results);
    if (body.next_cursor === undefined) return results;
    cursor = `&cursor=${body.next_cursor}`;
  }
}

type Filter = [query: string, matches: (shown: Shown) => boolean];
const byDecision = (decision: string): Filter => [
  `&decision=${decision}`,
  (shown) => shown.decision === decision,
];
const filters: Filter[] = [
  ['', () => true],
  ...'none pending approved rejected'.split(' ').map(byDecision),
  ['&requested_by_type=custom', ({ requested_by }) => requested_by?.actor_type === 'custom'],
  ['&requested_by_id=ann', ({ requested_by }) => requested_by?.actor_id === 'ann'],
  [
    '&requested_by_id=ann&requested_by_type=custom&decision=approved',
    ({ requested_by: by, decision }) =>
      by?.actor_id === 'ann' && by.actor_type === 'custom' && decision === 'approved',
  ],
  ['&reference=case-1', ({ reference }) => reference === 'case-1'],
];

/**
 * Whether every search finds exactly what there is. Those that have expired are found as such when
 * that is stored.
 */
async function expectTruth(ids: number[], account: Account): Promise<void> {
  const searched = await Promise.all(filters.map(([query]) => found(query, account)));
  const all = await truth(ids, account);
  expect(searched).toEqual(filters.map(([, matches]) => all.filter(matches)));
  await expire();
  const [query, matches] = byDecision('expired');
  expect(await found(query, account)).toEqual((await truth(ids, account)).filter(matches));
}

async function idsFrom(first: number): Promise<number[]> {
  const last = (await service.createAccessRequest({ account: service.demo.other_account })).body.id;
  return Array.from({ length: last - first }, (_, place) => first + place);
}

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
  fc.record({ does: fc.constant('expire' as const) }),
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

/** Does a step; whether it succeeds is nobody's business here. */
async function run(one: Step, made: number[], account: Account, other: Account): Promise<void> {
  if (one.does === 'create') {
    const body = {
      approvals_needed: one.approvals_needed,
      self_review: one.requester ? one.self_review : undefined,
      reference: one.reference,
      requested_by: one.requester && { actor_type: one.type, actor_id: one.requester },
      expires_at: one.expires && isoIn(one.expires),
    };
    const { status, body: created } = await service.createAccessRequest({ account, body });
    if (status === 201) made.push(created.id);
    return;
  }
  if (one.does === 'expire') return void (await expire().catch(() => {}));
  const id = made.at(-1 - one.which);
  if (id === undefined) return;
  if (one.does === 'review') {
    const body = { actor_type: 'custom', actor_id: one.actor, status: one.status };
    await service.addEvent('reviews', body, { id, account });
    return;
  }
  const flags = { 'access-request': id, account: other.account_id };
  await operate('access-requests', one.does, flags).catch(() => {});
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
              return drawn < faulty
                ? faults[Math.floor((drawn / faulty) * faults.length)]
                : undefined;
            };
            if (faulty > 0) await Promise.all(burst.map((one) => run(one, made, account, other)));
            else for (const one of burst) await run(one, made, account, other);
            proxy.hook = () => undefined;
            seconds += pauses[place] ?? 0;
            running.advance(seconds);
            const ids = await idsFrom(first);
            for (const one of [account, other]) await expectTruth(ids, one);
          }
        },
      ),
      { numRuns: 8 / oneOf },
    );
  });
});

const body = { approvals_needed: 1, requested_by: { actor_type: 'custom', actor_id: 'ann' } };
const review = { actor_type: 'custom', actor_id: 'bob', status: 'approved' };
const withKey = () => ({ 'idempotency-key': unique('key') });
const lineOf = (line: number, content: object) => ({
  line,
  text: JSON.stringify(content),
  repetition: 0,
});

/**
 * A change of an account's access requests, and what must be there after it, and after it was made
 * again.
 */
interface Flow {
  account: Account;
  act: () => Promise<unknown>;
  /** What the account has of it: all of it, or nothing. */
  state: () => Promise<unknown>;
  states: { nothing: unknown; all: unknown };
}

/** A flow with an access request of another account's that is pending. */
async function onOther(
  act: (id: number, account: Account) => Promise<unknown>,
  isGranted: boolean,
) {
  const [account, creator] = [await createAccount(service), await createAccount(service)];
  const { id } = (await service.createAccessRequest({ account: creator, body })).body;
  const flags = { 'access-request': id, account: account.account_id };
  if (isGranted) await operate('access-requests', 'grant', flags);
  const state = async () => {
    const { status } = await service.accessRequests(`/${id}`, account);
    const { accounts } = await operate('access-requests', 'show', { 'access-request': id });
    const listed = (await found('&decision=pending', account)).map((one) => one.id);
    return { status, listed, accounts: (accounts as unknown[]).length };
  };
  const [none, theirs] = [
    { status: 403, listed: [], accounts: 1 },
    { status: 200, listed: [id], accounts: 2 },
  ];
  const states = isGranted ? { nothing: theirs, all: none } : { nothing: none, all: theirs };
  return { account, act: () => act(id, account), state, states };
}

const flows: Record<string, () => Promise<Flow>> = {
  'a creation with a reference and a key': async () => {
    const account = await createAccount(service);
    const options = { account, body: { ...body, reference: 'case-1' }, headers: withKey() };
    const state = async () => (await found('&reference=case-1&decision=pending', account)).length;
    return {
      account,
      act: () => service.createAccessRequest(options),
      state,
      states: { nothing: 0, all: 1 },
    };
  },
  'a grant': () =>
    onOther(
      (id, { account_id: account }) =>
        operate('access-requests', 'grant', { 'access-request': id, account }),
      false,
    ),
  'a revocation': () =>
    onOther(
      (id, { account_id: account }) =>
        operate('access-requests', 'revoke', { 'access-request': id, account }),
      true,
    ),
  'a review that decides': async () => {
    const account = await createAccount(service);
    const { id } = (await service.createAccessRequest({ account, body })).body;
    const options = { id, account, headers: withKey() };
    const state = async () => {
      const { decision, last_event_id } = (await service.accessRequests(`/${id}`, account)).body;
      const listed = (await found('', account)).map((one) => one.decision);
      const [pending] = await found('&decision=pending', account);
      return { decision, last_event_id, listed, isPending: pending !== undefined };
    };
    return {
      account,
      act: () => service.addEvent('reviews', review, options),
      state,
      states: {
        nothing: { decision: 'pending', last_event_id: 0, listed: ['pending'], isPending: true },
        all: { decision: 'approved', last_event_id: 1, listed: ['approved'], isPending: false },
      },
    };
  },
  'an import': async () => {
    const account = await createAccount(service);
    const { account_id } = account;
    const line = lineOf(1, { id: 'AR-17', reference: 'case-1', ...body });
    const state = async () => {
      const remembered = await operate('access-requests', 'find', {
        account: account_id,
        'imported-id': 'AR-17',
      }).catch(() => undefined);
      const listed = await found('&reference=case-1', account);
      return [remembered !== undefined, listed.length];
    };
    return {
      account,
      act: async () => {
        const { ids } = await operate('access-requests', 'import', {
          account: account_id,
          'access-requests': [line],
        });
        return { ids };
      },
      state,
      states: { nothing: [false, 0], all: [true, 1] },
    };
  },
  'an expiry': async () => {
    const account = await createAccount(service);
    const { id } = (
      await service.createAccessRequest({ account, body: { ...body, expires_at: isoIn(100) } })
    ).body;
    running.advance(101);
    const state = async () => (await found('&decision=expired', account)).map((one) => one.id);
    return { account, act: expire, state, states: { nothing: [], all: [id] } };
  },
};

/** An answer without what differs each time, and `done` for a success of the operator. */
const withoutTimes = (answer: unknown): unknown => {
  const { status, text } = Object(answer);
  return status === undefined ? answer : { status, text };
};

describe.each(Object.entries(flows))('%s', (_, newFlow) => {
  test.each(['fails before', 'fails after', 'answer lost'] as const)(
    'when any call of it %s, all of it happened or nothing, and its repetition is answered like the first',
    async (fault) => {
      for (let number = 0, isDone = false; !isDone; number += oneOf) {
        const { act, state, states } = await newFlow();
        const first = () => act().catch(() => ({ status: 500 }));
        const { result, happened } = await failing(proxy, [number, fault], first);
        isDone = !happened;
        const after = await state();
        const succeeded = !happened || fault === 'answer lost';
        if (succeeded) expect(Object(result).status ?? 200).toBeLessThan(300);
        expect(succeeded ? [states.all] : [states.nothing, states.all]).toContainEqual(after);
        const repeated = await act();
        expect(await state()).toEqual(states.all);
        if (succeeded) expect(withoutTimes(repeated)).toEqual(withoutTimes(result));
        running.resetClock();
      }
    },
  );

  test('twenty at once: it happens once, and all are answered alike', async () => {
    const { act, state, states } = await newFlow();
    const answers = await Promise.all(Array.from({ length: 20 }, act));
    const distinct = new Set(answers.map((answer) => JSON.stringify(withoutTimes(answer))));
    expect(distinct.size).toBe(1);
    expect(await state()).toEqual(states.all);
    running.resetClock();
  });
});

test('twenty creations at once with one reference: one has it, and the others name it', async () => {
  const account = await createAccount(service);
  const create = () => service.createAccessRequest({ account, body: { reference: 'case-1' } });
  const answers = await Promise.all(Array.from({ length: 20 }, create));
  const [made, ...others] = answers.toSorted((a, b) => a.status - b.status);
  expect(made?.status).toBe(201);
  const taken = `The access request ${made?.body.id} has this reference.`;
  for (const { status, body: refused } of others)
    expect([status, refused.error_description]).toEqual([409, taken]);
  expect(await found('', account)).toHaveLength(1);
});

/**
 * Adds a review as a client does that sends it again when too many others are writing: nothing was
 * written then.
 */
async function addReview(
  event: typeof review,
  about: { id: number; account: Account },
): Promise<void> {
  const { status } = await service.addEvent('reviews', event, about);
  if (status === 503) return addReview(event, about);
  expect(status).toBe(201);
}

test('twenty grants at once to as many accounts, while reviews decide: all lists tell the decision', async () => {
  const account = await createAccount(service);
  const { id } = (await service.createAccessRequest({ account, body: { approvals_needed: 3 } }))
    .body;
  const others = await Promise.all(Array.from({ length: 20 }, () => createAccount(service)));
  const grants = others.map(({ account_id }) =>
    operate('access-requests', 'grant', { 'access-request': id, account: account_id }),
  );
  const reviews = actors.map((actor_id) => addReview({ ...review, actor_id }, { id, account }));
  await Promise.all([...grants, ...reviews]);
  for (const one of [account, ...others])
    expect(await found('&decision=approved', one)).toMatchObject([{ id, approvals: 3 }]);
});

test('twenty approvals at once decide with exactly as many as are needed, and the others say that they do not count', async () => {
  const account = await createAccount(service);
  const { id } = (await service.createAccessRequest({ account, body: { approvals_needed: 7 } }))
    .body;
  const reviews = Array.from({ length: 20 }, (_, actor) => ({ ...review, actor_id: `${actor}` }));
  await Promise.all(reviews.map((one) => addReview(one, { id, account })));
  const { body: shown } = await service.accessRequests(`/${id}`, account);
  expect(shown).toMatchObject({ decision: 'approved', approvals: 7, last_event_id: 20 });
  const { body: events } = await service.search('?page_size=20', { id, account });
  const counts = events.results.map(({ counts }: { counts?: false }) => counts !== false);
  expect(counts).toEqual([...Array(7).fill(true), ...Array(13).fill(false)]);
  expect(shown.decided_at).toBe(events.results[6].created_at);
  await expectTruth(await idsFrom(id), account);
});
