import { describe, expect, test } from '@jest/globals';
import { expectAnswer, expectError, timestamp } from '../support/expectations.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();
const comment = { actor_type: 'login_user', actor_id: '1001', comment: 'Looks good.' };
const review = { ...comment, status: 'approved' };
const inActorId = 'actor_id must be well-formed Unicode without control characters.';
const inComment =
  'comment must be well-formed Unicode without control characters other than tab, line feed and carriage return.';
const notInComment = ['a\u0000', 'a\u0008', 'a\u000b', 'a\u001b', 'a\u007f', 'a\u009f', 'a\ud800'];
const notInActorId = [...notInComment, 'a\n'];
const id = (await service.createAccessRequest()).body.id;

const lastOf = async (path = 'events') => {
  const { total } = (await service.search('?page_size=1', { id, path })).body;
  return (await service.search(`?page_size=1&page=${total}`, { id, path })).body.results[0];
};

describe('a new comment', () => {
  test('201 with the event exactly as a search returns it', async () => {
    const answer = await service.addEvent('comments', comment, { id });
    const { body } = answer;
    const times = { created_at: timestamp, updated_at: body.created_at };
    const about = { id: expect.any(Number), access_request_id: id, type: 'comment' };
    expectAnswer(answer, 201, { ...comment, ...about, ...times });
    expect(JSON.stringify(body)).toBe(JSON.stringify(await lastOf()));
  });

  test.each([
    ['empty', ''],
    ['of 10,000 characters outside the basic plane', '🦉'.repeat(10_000)],
    ['U+FFFD in UTF-8', 'a\ufffdb\ufffd'],
    ['of tabs, line ends and combining marks', '\t\r\n e\u0301 \u202e \u2028 \u00a0'],
  ])('the comment may be %s', async (_, text) => {
    const { status, body } = await service.addEvent(
      'comments',
      { ...comment, comment: text },
      { id },
    );
    expect(status).toBe(201);
    expect(body.comment).toBe(text);
    expect(await lastOf()).toEqual(body);
  });

  test.each(['7', ' ', '🦉'.repeat(200), 'a#b', '__proto__'])(
    'an actor_id may be %j',
    async (actor_id) => {
      const { status, body } = await service.addEvent('comments', { ...comment, actor_id }, { id });
      expect(status).toBe(201);
      const query = `?actor_id=${encodeURIComponent(actor_id)}`;
      expect((await service.search(query, { id })).body).toMatchObject({
        total: 1,
        results: [body],
      });
    },
  );

  test('a status and other fields mean nothing', async () => {
    const sent = { ...review, id: 77, type: 'review', created_at: 'yesterday' };
    const { status, body } = await service.addEvent('comments', sent, { id });
    expect(status).toBe(201);
    expect(body).not.toHaveProperty('status');
    expect(body).toMatchObject({ type: 'comment', created_at: timestamp });
    expect(body.id).not.toBe(77);
  });
});

describe('a new review', () => {
  test.each(['approved', 'rejected'])(
    '%s: 201 with the event as a search returns it',
    async (verdict) => {
      const sent = { ...review, status: verdict };
      const { status, body } = await service.addEvent('reviews', sent, { id });
      expect({ status, body }).toMatchObject({ status: 201, body: { ...sent, type: 'review' } });
      expect(JSON.stringify(await lastOf('reviews'))).toBe(JSON.stringify(body));
      expect(await lastOf()).toEqual(body);
    },
  );

  test('its comment may be left out, and is then empty', async () => {
    const { comment: _, ...sent } = review;
    expect((await service.addEvent('reviews', sent, { id })).body.comment).toBe('');
  });
});

describe.each([
  ['comments', comment],
  ['reviews', review],
] as const)('POST …/%s', (path, sent) => {
  const badRequest = { status: 400, error: 'invalid_request' };
  test.each(['null', '"text"', '7', '[]', '[{}]'])('400 when the body is %j', async (text) => {
    expectError(await service.addEvent(path, text, { id }), { ...badRequest, naming: /JSON/ });
  });

  test.each(['0', '-1', 'x', '1.5', '%20'])(
    '400 when the access_request_id is %s',
    async (wrong) => {
      const naming = 'The access_request_id must be a positive integer.';
      expectError(await service.addEvent(path, sent, { id: wrong }), { ...badRequest, naming });
    },
  );

  test.each([
    ['actor_type', { actor_type: 'robot' }, 'actor_type must be login_user or custom.'],
    ['actor_type', { actor_type: undefined }, 'actor_type is required.'],
    ['actor_id', { actor_id: '' }, 'actor_id must have 1 to 200 characters.'],
    ['actor_id', { actor_id: 'a'.repeat(201) }, 'actor_id must have 1 to 200 characters.'],
    ['actor_id', { actor_id: 1001 }, 'actor_id must be a string.'],
    ['actor_id', { actor_id: undefined }, 'actor_id is required.'],
    ['comment', { comment: 'a'.repeat(10_001) }, 'comment must have at most 10000 characters.'],
    ...notInComment.map((text) => ['comment', { comment: text }, inComment] as const),
    ...notInActorId.map((text) => ['actor_id', { actor_id: text }, inActorId] as const),
    ['comment', { comment: null }, 'comment must be a string.'],
  ])('422 naming %s when it is %j', async (field, change, message) => {
    const answer = await service.addEvent(path, { ...sent, ...change }, { id });
    expectError(answer, {
      status: 422,
      error: 'unprocessable_entity',
      naming: message,
      fields: [field],
    });
    expect(answer.body.errors).toEqual([{ field, message }]);
  });

  test('422 names every field that is wrong', async () => {
    const { status, body } = await service.addEvent(path, { comment: 7 }, { id });
    const wrong = ['actor_type', 'actor_id', 'comment', ...(path === 'reviews' ? ['status'] : [])];
    expect(status).toBe(422);
    expect(new Set(body.errors.map(({ field }: { field: string }) => field))).toEqual(
      new Set(wrong),
    );
  });

  test('the same Idempotency-Key and body answers the same event, once written', async () => {
    const headers = { 'idempotency-key': unique('key') };
    const first = await service.addEvent(path, sent, { id, headers });
    const second = await service.addEvent(path, sent, { id, headers });
    expect(first.status).toBe(201);
    expect(second).toMatchObject({ status: 201, text: first.text });
    expect((await lastOf()).id).toBe(first.body.id);
  });

  test('also when eight arrive at once', async () => {
    const headers = { 'idempotency-key': unique('key') };
    const before = (await service.search('', { id })).body.total;
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => service.addEvent(path, sent, { id, headers })),
    );
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect((await service.search('', { id })).body.total).toBe(before + 1);
  });

  test('the same key with another body is 422', async () => {
    const headers = { 'idempotency-key': unique('key') };
    await service.addEvent(path, sent, { id, headers });
    const { status, body } = await service.addEvent(
      path,
      { ...sent, comment: 'Another.' },
      { id, headers },
    );
    expect({ status, body }).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'Idempotency-Key' }] },
    });
  });

  test('the same key is another for another account and for another access request', async () => {
    const headers = { 'idempotency-key': unique('key') };
    const account = service.demo.other_account;
    await service.operate('access-requests', 'grant', {
      'access-request': id,
      account: account.account_id,
    });
    const first = await service.addEvent(path, sent, { id, headers });
    const others = await service.addEvent(path, sent, { id, headers, account });
    expect(others.body.id).toBe(first.body.id + 1);
    await service.operate('access-requests', 'revoke', {
      'access-request': id,
      account: account.account_id,
    });
    const elsewhere = (await service.createAccessRequest()).body.id;
    expect((await service.addEvent(path, sent, { id: elsewhere, headers })).body.id).toBe(1);
  });

  test.each([
    ['empty', ''],
    ['of 256 characters', 'k'.repeat(256)],
  ])('400 when the Idempotency-Key is %s', async (_, key) => {
    const headers = { 'idempotency-key': key };
    const naming = 'The header Idempotency-Key must have 1 to 255 characters.';
    expectError(await service.addEvent(path, sent, { id, headers }), { ...badRequest, naming });
  });
});

test('a key that came with a comment is 422 with a review', async () => {
  const headers = { 'idempotency-key': unique('key') };
  await service.addEvent('comments', comment, { id, headers });
  expect((await service.addEvent('reviews', review, { id, headers })).status).toBe(422);
});
