import { afterEach, describe, expect, test } from '@jest/globals';
import { expectAnswer, expectError } from '../support/expectations.ts';
import { itemsAbout, removeAttribute, removeItem } from '../support/items-about.ts';
import { createAccount } from '../support/login-app.ts';
import { operator } from '../support/operator.ts';
import { unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';

const own = await sharedServiceWithStore();
const { running, service } = own;
afterEach(() => running.resetClock());

const requested_by = { actor_type: 'custom', actor_id: 'ann' };
const create = async (body: unknown, account = service.demo.account): Promise<number> => {
  const { status, body: made } = await service.createAccessRequest({ body, account });
  expect(status).toBe(201);
  return made.id;
};
const show = async (id: number) => (await service.accessRequests(`/${id}`)).body;
const review = (id: number, actor_id: string, status = 'approved') =>
  service.addEvent('reviews', { actor_type: 'custom', actor_id, status }, { id });
const expire = () => service.runSchedule();
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();
const idsOf = async (query: string, account = service.demo.account) => {
  const { body } = await service.accessRequests(query, account);
  expect(body).not.toHaveProperty('next_cursor');
  return body.results.map(({ id }: { id: number }) => id);
};

describe('POST /v1/rbac/access_requests', () => {
  const fields = {
    title: 'Raise the limit',
    reference: 'limit-7',
    requested_by,
    approvals_needed: 2,
    self_review: false,
    expires_at: '2999-01-31T09:00:00+01:00',
  };

  test('answers with its fields, as GET shows them, and ignores unknown ones', async () => {
    const created = await service.createAccessRequest({ body: { ...fields, unknown: 1 } });
    const shown = await service.accessRequests(`/${created.body.id}`);
    expect(created).toMatchObject({ status: 201, body: shown.body });
    expectAnswer(shown, 200, {
      id: expect.any(Number),
      ...fields,
      expires_at: '2999-01-31T08:00:00.000Z',
      decision: 'pending',
      approvals: 0,
      created_at: expect.any(String),
      last_event_id: 0,
    });
  });

  test.each([
    ['no body', undefined],
    ['an empty object', {}],
    ['only a title', { title: 'x' }],
  ])('with %s, no decision is computed', async (_, body) => {
    const id = await create(body);
    await review(id, 'ann', 'rejected');
    expect(await show(id)).toMatchObject({ id, decision: 'none', approvals: 0, last_event_id: 1 });
  });

  test('with expires_at alone, one approval decides', async () => {
    const id = await create({ expires_at: inSeconds(60) });
    expect(await show(id)).toMatchObject({ approvals_needed: 1, decision: 'pending' });
    await review(id, 'ann');
    expect(await show(id)).toMatchObject({ decision: 'approved', approvals: 1 });
  });

  test.each([
    ['title', { title: '' }],
    ['title', { title: 'x'.repeat(201) }],
    ['title', { title: 'a\nb' }],
    ['reference', { reference: 7 }],
    ['requested_by', { requested_by: 'ann' }],
    ['requested_by.actor_id', { requested_by: { actor_type: 'custom' } }],
    ['requested_by.actor_type', { requested_by: { ...requested_by, actor_type: 'x' } }],
    ['approvals_needed', { approvals_needed: 0 }],
    ['approvals_needed', { approvals_needed: 11 }],
    ['approvals_needed', { approvals_needed: 1.5 }],
    ['approvals_needed', { approvals_needed: '2' }],
    ['self_review', { self_review: 'no' }],
    ['self_review', { self_review: false }],
    ['expires_at', { expires_at: '2020-01-01T00:00:00Z' }],
    ['expires_at', { expires_at: 'tomorrow' }],
  ])('422 that names %s for %j', async (field, body) => {
    const answer = await service.createAccessRequest({ body });
    expectError(answer, { status: 422, error: 'unprocessable_entity', fields: [field] });
  });

  test('422 for a requester without an id says that it is required', async () => {
    const answer = await service.createAccessRequest({
      body: { requested_by: { actor_type: 'custom' } },
    });
    const message = 'requested_by.actor_id is required.';
    expect(answer.body.errors).toEqual([{ field: 'requested_by.actor_id', message }]);
  });

  test.each(['[]', '{', '"x"'])('400 for the body %s', async (body) => {
    expectError(await service.createAccessRequest({ body }), {
      status: 400,
      error: 'invalid_request',
    });
  });

  test('409 for a reference that the account has used, naming the access request; another account may use it', async () => {
    const body = { reference: unique('case') };
    const id = await create(body);
    const naming = `The access request ${id} has this reference.`;
    expectError(await service.createAccessRequest({ body }), {
      status: 409,
      error: 'conflict',
      naming,
    });
    await create(body, service.demo.other_account);
    const at_once = { reference: unique('case') };
    const answers = await Promise.all(
      [1, 2, 3].map(() => service.createAccessRequest({ body: at_once })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
  });

  test('the Idempotency-Key of other fields is a 422', async () => {
    const headers = { 'idempotency-key': unique('key') };
    const body = { reference: unique('case'), requested_by };
    const first = await service.createAccessRequest({ headers, body });
    await review(first.body.id, 'bob');
    expect(await service.createAccessRequest({ headers, body })).toMatchObject({
      text: first.text,
    });
    const other = await service.createAccessRequest({ headers, body: { ...body, title: 'x' } });
    expectError(other, { status: 422, error: 'unprocessable_entity', fields: ['Idempotency-Key'] });
  });
});

describe('GET /v1/rbac/access_requests/{access_request_id}', () => {
  test('400 for an id that is none', async () => {
    expectError(await service.accessRequests('/x'), { status: 400, error: 'invalid_request' });
  });
});

describe('the decision', () => {
  test.each([
    ['as many different actors', 2, ['a', 'a', 'b'], 'approved', 2],
    ['the same actor twice', 2, ['a', 'a'], 'pending', 1],
    ['the first rejection', 3, ['a', '-b', 'c'], 'rejected', 1],
    ['a rejection after an approval by the same actor', 2, ['a', '-a', 'b'], 'rejected', 1],
    ['reviews afterwards', 1, ['a', '-b', 'c'], 'approved', 1],
  ])('%s', async (_, approvals_needed, reviews, decision, approvals) => {
    const id = await create({ approvals_needed });
    for (const one of reviews)
      await review(id, one.replace('-', ''), one.startsWith('-') ? 'rejected' : undefined);
    const shown = await show(id);
    expect(shown).toMatchObject({ decision, approvals, last_event_id: reviews.length });
    expect('decided_at' in shown).toBe(decision !== 'pending');
    expect((await service.search('?type=review', { id })).body.total).toBe(reviews.length);
  });

  const countsOf = async (id: number) => {
    const { body } = await service.search('?page_size=100', { id });
    return body.results.map(({ counts }: { counts?: false }) => counts !== false);
  };

  test('a review of who requested, with self_review: false, is kept and says that it does not count', async () => {
    const id = await create({ approvals_needed: 1, self_review: false, requested_by });
    expect((await review(id, 'ann', 'rejected')).body).toMatchObject({
      status: 'rejected',
      counts: false,
    });
    expect(await show(id)).toMatchObject({ decision: 'pending', approvals: 0 });
    expect((await review(id, 'bob')).body).not.toHaveProperty('counts');
    expect(await countsOf(id)).toEqual([false, true]);
    expect(await show(id)).toMatchObject({ decision: 'approved', approvals: 1 });
  });

  test.each([
    [
      'another approval by the same actor',
      { approvals_needed: 3 },
      ['a', 'a', 'b'],
      [true, false, true],
    ],
    [
      'whatever follows the decision',
      { approvals_needed: 1 },
      ['a', 'b', '-c'],
      [true, false, false],
    ],
    ['none, where no decision is computed', {}, ['a', 'a', '-a'], [true, true, true]],
  ])('does not count, and says so: %s', async (_, body, reviews, counts) => {
    const id = await create(body);
    for (const one of reviews)
      await review(id, one.replace('-', ''), one.startsWith('-') ? 'rejected' : undefined);
    expect(await countsOf(id)).toEqual(counts);
  });

  test('a review after expires_at does not count, and says so, whether the expiry is stored or not', async () => {
    const id = await create({ expires_at: inSeconds(100) });
    running.advance(101);
    await review(id, 'ann');
    await expire();
    await review(id, 'bob');
    expect(await countsOf(id)).toEqual([false, false]);
    expect(await show(id)).toMatchObject({ decision: 'expired', approvals: 0 });
  });

  // U+FF41 is a full-width a, U+200B has no width, U+FE0F and U+00AD are not seen, U+00A0 is a
  // space.
  const spellings = ['\uff41nn', 'an\u200bn', ' ann', 'ann\u00a0', 'a\u00adnn', 'ann\ufe0f'];

  test('an actor who spells their id in another way that looks the same is the same actor', async () => {
    const id = await create({ approvals_needed: 2 });
    for (const actor_id of ['ann', ...spellings]) {
      const { body } = await review(id, actor_id);
      expect(body).toMatchObject({ actor_id, ...(actor_id === 'ann' ? {} : { counts: false }) });
    }
    expect(await show(id)).toMatchObject({ decision: 'pending', approvals: 1 });
    expect((await review(id, 'Ann')).body).not.toHaveProperty('counts');
    expect(await show(id)).toMatchObject({ decision: 'approved', approvals: 2 });
  });

  test.each(spellings)('nor do they review their own access request as %j', async (actor_id) => {
    const id = await create({ approvals_needed: 1, self_review: false, requested_by });
    expect((await review(id, actor_id)).body).toMatchObject({ actor_id, counts: false });
    const other = await create({
      approvals_needed: 1,
      self_review: false,
      requested_by: { ...requested_by, actor_id },
    });
    expect((await review(other, 'ann')).body).toMatchObject({ counts: false });
    expect(await show(other)).toMatchObject({ decision: 'pending', requested_by: { actor_id } });
  });

  test('it leaves pending when it expires, is then told, and reviews after that change nothing', async () => {
    const account = await createAccount(service);
    const id = await create({ expires_at: inSeconds(100) }, account);
    const decision = async () =>
      (await service.accessRequests('', account)).body.results[0].decision;
    expect([await idsOf('?decision=pending', account), await decision()]).toEqual([
      [id],
      'pending',
    ]);
    running.advance(101);
    expect([await idsOf('?decision=pending', account), await decision()]).toEqual([[], 'expired']);
    await service.addEvent('reviews', { ...requested_by, status: 'approved' }, { id, account });
    expect((await service.accessRequests(`/${id}`, account)).body).toMatchObject({
      decision: 'expired',
    });
    await expire();
    expect(await idsOf('?decision=expired', account)).toEqual([id]);
    const due = await itemsAbout(own, 'DUE_ACCESS_REQUESTS');
    expect(due.map((item) => item.access_request_id)).not.toContain(id);
  });

  test('it decides at each review through an access that 1.0.0 gave', async () => {
    const id = await create({ approvals_needed: 1 });
    const { account_id } = service.demo.account;
    const key = { pk: `ACCESS_REQUEST#${id}`, sk: `ACCOUNT#${account_id}` };
    await removeAttribute(own, key, 'is_decided');
    await review(id, 'ann');
    expect(await show(id)).toMatchObject({ decision: 'approved' });
  });
});

describe('GET /v1/rbac/access_requests', () => {
  test.each([
    ['page=1', 'page'],
    ['cursor=', 'cursor'],
    ['cursor=x', 'cursor'],
    ['cursor=eyJhZnRlciI6MSwib2YiOiJ4In0', 'cursor'],
    ['page_size=101', 'page_size'],
    ['decision=maybe', 'decision'],
    ['requested_by_type=x', 'requested_by_type'],
    ['requested_by_id=', 'requested_by_id'],
    ['reference=', 'reference'],
    ['order=asc', 'order'],
    ['decision=none&decision=none', 'decision'],
    ['x=1', 'x'],
  ])('400 for %s', async (query, name) => {
    const naming = new RegExp(`\\b${name}\\b`);
    expectError(await service.accessRequests(`?${query}`), {
      status: 400,
      error: 'invalid_request',
      naming,
    });
  });

  test('what 1.0.0 has written is listed after access-requests index, run twice', async () => {
    const account = await createAccount(service);
    const { account_id } = account;
    const ids = [await create({ approvals_needed: 1 }, account), await create({}, account)];
    await service.addEvent(
      'reviews',
      { ...requested_by, status: 'approved' },
      { id: ids[0], account },
    );
    const pk = `ACCESS_REQUESTS_OF#${account_id}`;
    const entries = async () =>
      (await itemsAbout(own, account_id)).filter((item) => item.pk === pk);
    for (const { sk } of await entries()) await removeItem(own, { pk, sk: String(sk) });
    expect(await idsOf('', account)).toEqual([]);
    for (const _ of [1, 2]) {
      const { code } = await operator.at(running.directory)('access-requests', 'index', '--local');
      expect(code).toBe(0);
      expect(await idsOf('?order=oldest', account)).toEqual(ids);
      expect(await idsOf('?decision=approved', account)).toEqual([ids[0]]);
    }
    await service.operate('accounts', 'delete', { account: account_id });
    expect(await entries()).toEqual([]);
  });

  test('an entry without an access, as 1.0.0 leaves one, shows nothing', async () => {
    const account = await createAccount(service);
    const id = await create({ title: 'Secret' }, account);
    await removeItem(own, { pk: `ACCESS_REQUEST#${id}`, sk: `ACCOUNT#${account.account_id}` });
    expect(await idsOf('', account)).toEqual([]);
  });

  test('what the operator grants and revokes comes and goes', async () => {
    const account = await createAccount(service);
    const flags = { account: account.account_id };
    const id = await create({ approvals_needed: 1, expires_at: inSeconds(60) });
    await service.operate('access-requests', 'grant', { ...flags, 'access-request': id });
    expect(await idsOf('', account)).toEqual([id]);
    await review(id, 'ann');
    expect(await idsOf('?decision=approved', account)).toEqual([id]);
    running.advance(61);
    await expire();
    expect(await idsOf('?decision=approved', account)).toEqual([id]);
    await service.operate('access-requests', 'revoke', { ...flags, 'access-request': id });
    expect(await idsOf('', account)).toEqual([]);
  });

  test('its cursor goes through all of them in both orders, and belongs to its filters and order', async () => {
    const account = await createAccount(service);
    const ids: number[] = [];
    for (let made = 0; made < 7; made += 1)
      ids.push(await create({ approvals_needed: 1 }, account));
    for (const [order, expected] of [
      ['oldest', ids],
      ['newest', ids.toReversed()],
    ] as const) {
      const pages: number[][] = [];
      let cursor: string | undefined = '';
      for (let size = 3; cursor !== undefined; size = 2) {
        const query = `?page_size=${size}&order=${order}&decision=pending`;
        const { body } = await service.accessRequests(
          query + (cursor && `&cursor=${cursor}`),
          account,
        );
        pages.push(body.results.map(({ id }: { id: number }) => id));
        cursor = body.next_cursor;
        for (const other of cursor ? [`?order=${order}`, query.replace('pending', 'none')] : []) {
          const answer = await service.accessRequests(`${other}&cursor=${cursor}`, account);
          expectError(answer, { status: 400, error: 'invalid_request', naming: /\bcursor\b/ });
        }
      }
      expect(pages.map(({ length }) => length)).toEqual([3, 2, 2]);
      expect(pages.flat()).toEqual(expected);
    }
  });

  test('50 accounts may have access; a 51st is refused, also in a race', async () => {
    const id = await create({ approvals_needed: 1 });
    const grant = (account: string) =>
      service.operate('access-requests', 'grant', { 'access-request': id, account });
    const accounts = await Promise.all(Array.from({ length: 51 }, () => createAccount(service)));
    const ids = accounts.map(({ account_id }) => account_id);
    for (const one of ids.slice(0, 46)) await grant(one);
    const outcomes = await Promise.allSettled(ids.slice(46).map(grant));
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    const { accounts: shown } = await service.operate('access-requests', 'show', {
      'access-request': id,
    });
    expect(shown).toHaveLength(50);
    expect(refused).toHaveLength(2);
    // One that has access already is no further one.
    await grant(ids[0] ?? '');
    await review(id, 'ann');
    for (const account of accounts.slice(0, 46))
      expect(await idsOf('?decision=approved', account)).toEqual([id]);
  });
});
