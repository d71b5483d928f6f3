import { afterEach, describe, expect, test } from '@jest/globals';
import { invokeFunction } from '../../infra/invoke-function.ts';
import { expectAnswer, expectError } from '../support/expectations.ts';
import { itemsAbout, removeItem } from '../support/items-about.ts';
import { createAccount } from '../support/login-app.ts';
import { operator } from '../support/operator.ts';
import { operatorOf, unique } from '../support/service.ts';
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
const refresh = () =>
  invokeFunction({ ...operatorOf(running.directory), name: 'refresh-access-requests' }, {});
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();
const idsOf = async (query: string, account = service.demo.account) => {
  const { body } = await service.accessRequests(query, account);
  return { total: body.total, ids: body.results.map(({ id }: { id: number }) => id) };
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

  test('keeps its fields, as GET shows them, and ignores unknown ones', async () => {
    const id = await create({ ...fields, unknown: 1 });
    expectAnswer(await service.accessRequests(`/${id}`), 200, {
      id,
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
    ['expires_at', { expires_at: '2020-01-01T00:00:00Z' }],
    ['expires_at', { expires_at: 'tomorrow' }],
  ])('422 that names %s for %j', async (field, body) => {
    const answer = await service.createAccessRequest({ body });
    expectError(answer, { status: 422, error: 'unprocessable_entity', fields: [field] });
  });

  test.each(['[]', '{', '"x"'])('400 for the body %s', async (body) => {
    expectError(await service.createAccessRequest({ body }), { status: 400, error: 'invalid_request' });
  });

  test('409 for a reference that the account has used, naming the access request; another account may use it', async () => {
    const body = { reference: unique('case') };
    const id = await create(body);
    const naming = `The access request ${id} has this reference.`;
    expectError(await service.createAccessRequest({ body }), { status: 409, error: 'conflict', naming });
    await create(body, service.demo.other_account);
    const at_once = { reference: unique('case') };
    const answers = await Promise.all([1, 2, 3].map(() => service.createAccessRequest({ body: at_once })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
  });

  test('the Idempotency-Key of other fields is a 422', async () => {
    const headers = { 'idempotency-key': unique('key') };
    const body = { reference: unique('case'), requested_by };
    const first = await service.createAccessRequest({ headers, body });
    expect(await service.createAccessRequest({ headers, body })).toMatchObject({ text: first.text });
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

  test('reviews of who requested are kept and do not count, with self_review: false', async () => {
    const id = await create({ approvals_needed: 1, self_review: false, requested_by });
    expect((await review(id, 'ann', 'rejected')).body).toMatchObject({ status: 'rejected', counts: false });
    expect(await show(id)).toMatchObject({ decision: 'pending', approvals: 0 });
    expect((await review(id, 'bob')).body).not.toHaveProperty('counts');
    const { body } = await service.search('', { id });
    expect(body.results.map(({ counts }: { counts?: boolean }) => counts)).toEqual([false, undefined]);
    expect(await show(id)).toMatchObject({ decision: 'approved', approvals: 1 });
  });

  test('it expires without anybody looking, and reviews after that change nothing', async () => {
    const account = await createAccount(service);
    const id = await create({ expires_at: inSeconds(100) }, account);
    expect(await idsOf('?decision=pending', account)).toEqual({ total: 1, ids: [id] });
    running.advance(101);
    expect(await idsOf('?decision=expired', account)).toEqual({ total: 1, ids: [id] });
    expect(await idsOf('?decision=pending', account)).toEqual({ total: 0, ids: [] });
    await service.addEvent('reviews', { ...requested_by, status: 'approved' }, { id, account });
    expect((await service.accessRequests(`/${id}`, account)).body).toMatchObject({ decision: 'expired' });
    await refresh();
    expect(await idsOf('?decision=expired', account)).toEqual({ total: 1, ids: [id] });
  });
});

describe('GET /v1/rbac/access_requests', () => {
  test.each([
    ['page=0', 'page'],
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
    expectError(await service.accessRequests(`?${query}`), { status: 400, error: 'invalid_request', naming });
  });

  test('what 1.0.0 has written is listed after access-requests index, run twice', async () => {
    const account = await createAccount(service);
    const { account_id } = account;
    const ids = [await create({ approvals_needed: 1 }, account), await create({}, account)];
    await service.addEvent('reviews', { ...requested_by, status: 'approved' }, { id: ids[0], account });
    const pk = `ACCESS_REQUESTS_OF#${account_id}`;
    for (const { sk } of (await itemsAbout(own, account_id)).filter((item) => item.pk === pk))
      await removeItem(own, { pk, sk: String(sk) });
    expect(await idsOf('', account)).toEqual({ total: 0, ids: [] });
    for (const _ of [1, 2]) {
      const { code } = await operator.at(running.directory)('access-requests', 'index', '--local');
      expect(code).toBe(0);
      expect(await idsOf('?order=oldest', account)).toEqual({ total: 2, ids });
      expect(await idsOf('?decision=approved', account)).toEqual({ total: 1, ids: [ids[0]] });
    }
    await service.operate('accounts', 'delete', { account: account_id });
    expect((await itemsAbout(own, account_id)).filter((item) => item.pk === pk)).toEqual([]);
  });

  test('what the operator grants and revokes comes and goes', async () => {
    const account = await createAccount(service);
    const flags = { account: account.account_id };
    const id = await create({ approvals_needed: 1, expires_at: inSeconds(60) });
    await service.operate('access-requests', 'grant', { ...flags, 'access-request': id });
    expect(await idsOf('', account)).toEqual({ total: 1, ids: [id] });
    await review(id, 'ann');
    expect(await idsOf('?decision=approved', account)).toEqual({ total: 1, ids: [id] });
    for (const seconds of [61, 122]) {
      running.advance(seconds);
      await refresh();
      expect(await idsOf('?decision=approved', account)).toEqual({ total: 1, ids: [id] });
    }
    await service.operate('access-requests', 'revoke', { ...flags, 'access-request': id });
    expect(await idsOf('', account)).toEqual({ total: 0, ids: [] });
    running.advance(61);
    await refresh();
    expect(await idsOf('', account)).toEqual({ total: 0, ids: [] });
  });
});
