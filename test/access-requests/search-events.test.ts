import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { expectAnswer, timestamp } from '../support/expectations.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';

const { service, proxy } = await sharedServiceWithStore();
const { operate } = service;

/** The access request of these tests, and its events as a search must show them. */
const anna = { type: 'login_user', id: '1001' };
const desk = { type: 'custom', id: 'risk-desk' };
const written = [
  { type: 'comment', by: anna, comment: 'Please have a look.' },
  { type: 'review', by: desk, comment: 'A page is missing.', status: 'rejected' },
  { type: 'comment', by: { type: 'custom', id: '1001' }, comment: '' },
  { type: 'review', by: anna, comment: '', status: 'approved' },
  { type: 'comment', by: desk, comment: 'Ключ 🔑 "quoted"\n<b>' },
  { type: 'comment', by: { type: 'custom', id: '__proto__' }, comment: '__proto__' },
  {
    type: 'comment',
    by: { type: 'login_user', id: 'a b&c=d,é/%2F+#' },
    comment: 'x'.repeat(10_000),
  },
  { type: 'review', by: desk, comment: 'Fine now.', status: 'approved' },
  { type: 'comment', by: anna, comment: 'Thank you.' },
  { type: 'review', by: { type: 'custom', id: 'constructor' }, comment: 'no', status: 'rejected' },
];

const id = (await service.createAccessRequest()).body.id;
for (const { type, by, comment, status } of written) {
  const flags = { 'access-request': id, 'actor-type': by.type, 'actor-id': by.id, comment };
  await operate(`${type}s`, 'add', { ...flags, ...(status && { status }) });
}
const events = written.map(({ type, by, comment, status }, index) => ({
  id: index + 1,
  access_request_id: id,
  type,
  actor_type: by.type,
  actor_id: by.id,
  comment,
  created_at: timestamp,
  updated_at: timestamp,
  ...(status && { status }),
}));

const search = (query = '', path = 'events') => service.search(query, { id, path });

/** The envelope of the events with these ids, of which a page shows some. */
const envelope = (ids: number[], offset = 0, size = 8) => {
  const results = ids.slice(offset, offset + size).map((eventId) => events[eventId - 1]);
  return { total: ids.length, offset, count: results.length, results };
};

const all = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
const reviews = [2, 4, 8, 10];

describe('GET /v1/rbac/access_requests/{access_request_id}/events', () => {
  test("the demo's three events with page_size=1 and page=2: the second one", async () => {
    const { status, body } = await service.search('?page_size=1&page=2&ids=1,2,3');
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { total: 3, offset: 1, count: 1 },
    });
    expect(body.results).toEqual([
      expect.objectContaining({ id: 2, type: 'review', actor_id: 'risk-desk' }),
    ]);
  });

  /** Queries with the ids that match, and the offset and size of the page. */
  const searches: [query: string, ids: number[], offset?: number, size?: number][] = [
    ['', all],
    ['page=1', all],
    ['page=2', all, 8],
    ['page=1&page_size=10', all, 0, 10],
    ['page_size=100', all, 0, 100],
    ['page_size=3&page=4', all, 9, 3],
    ['page_size=5&page=2', all, 5, 5],
    ['page_size=1&page=10', all, 9, 1],
    ['page=3', all, 16],
    ['page_size=10&page=2', all, 10, 10],
    ['page_size=100&page=9999999999999', all, 999999999999800, 100],
    ['page=0002&page_size=003', all, 3, 3],
    ['actor_type=login_user', [1, 4, 7, 9]],
    ['actor_type=custom', [2, 3, 5, 6, 8, 10]],
    ['actor_id=1001', [1, 3, 4, 9]],
    ['actor_id=risk-desk', [2, 5, 8]],
    ['actor_id=__proto__', [6]],
    ['actor_id=constructor', [10]],
    [`actor_id=${encodeURIComponent('a b&c=d,é/%2F+#')}`, [7]],
    ['actor_id=Risk-Desk', []],
    ['actor_id=nobody', []],
    [`actor_id=${'x'.repeat(5_000)}`, []],
    ['actor_type=custom&actor_id=1001', [3]],
    ['actor_type=login_user&actor_id=1001', [1, 4, 9]],
    ['actor_type=login_user&actor_id=risk-desk', []],
    ['ids=3', [3]],
    ['ids=9,2,5', [2, 5, 9]],
    ['ids=2,2,2', [2]],
    ['ids=002', [2]],
    ['ids=2%2C4', [2, 4]],
    ['ids=1&ids=2', [1, 2]],
    ['ids=11', []],
    ['ids=9999999999999', []],
    ['ids=1,11', [1]],
    [`ids=${Array.from({ length: 100 }, (_, index) => index + 5)}`, [5, 6, 7, 8, 9, 10]],
    ['ids=1,2,3&actor_type=custom', [2, 3]],
    ['ids=1,2,3&actor_id=1001', [1, 3]],
    ['ids=1,2,3,4&actor_id=1001&actor_type=login_user', [1, 4]],
    ['order=asc', all],
    ['order=desc', all.toReversed()],
    ['order=desc&page=2', all.toReversed(), 8],
    ['order=desc&page=3', all.toReversed(), 16],
    ['order=desc&page_size=5&page=2', all.toReversed(), 5, 5],
    ['order=desc&page_size=5&page=3', all.toReversed(), 10, 5],
    ['order=desc&actor_id=1001', [9, 4, 3, 1]],
    ['order=desc&ids=2,9,5', [9, 5, 2]],
    ['order=desc&actor_id=nobody', []],
    ['actor_type=custom&page_size=2&page=2', [2, 3, 5, 6, 8, 10], 2, 2],
    ['actor_id=1001&page_size=3&page=2', [1, 3, 4, 9], 3, 3],
    ['ids=1,3,5,7,9&page_size=2&page=3', [1, 3, 5, 7, 9], 4, 2],
    ['actor_id=risk-desk&page=2', [2, 5, 8], 8],
  ];
  test.each(searches.map(([query, ids, offset = 0, size = 8]) => ({ query, ids, offset, size })))(
    'with the query $query: 200 with the true total, and offset (page - 1) * page_size',
    async ({ query, ids, offset, size }) => {
      expectAnswer(await search(`?${query}`), 200, envelope(ids, offset, size));
    },
  );

  test.each([
    ['?page_size=100', 3],
    ['?page_size=100&actor_id=x', 3],
    ['?page_size=2&page=2', 1],
    ['?page_size=3&page=2', 0],
  ])(
    '%s, while an event is added that the page does not show: it is not counted',
    async (query, count) => {
      const { id } = (await service.createAccessRequest()).body;
      const add = (comment: string) =>
        service.addEvent('comments', { actor_type: 'custom', actor_id: 'x', comment }, { id });
      for (const comment of ['1', '2', '3']) await add(comment);
      proxy.forget();
      // The total is read after the page, and between the two somebody adds an event.
      proxy.hook = async ({ operation, body }) => {
        if (operation !== 'Query' || body.Limit !== 1) return undefined;
        proxy.hook = () => undefined;
        const pageIsRead = () =>
          proxy.calls().some((call) => call.operation === 'Query' && call.bytes > 0);
        while (!pageIsRead()) await nextTurn();
        await add('4');
        return undefined;
      };
      const { body } = await service.search(query, { id });
      expect(body).toMatchObject({ total: 3, count });
    },
  );
});

describe('GET /v1/rbac/access_requests/{access_request_id}/reviews', () => {
  test.each([
    ['', reviews, 0, 8],
    ['?page_size=3&page=2', reviews, 3, 3],
    ['?page=2', reviews, 8, 8],
    ['?actor_type=custom', [2, 8, 10], 0, 8],
    ['?actor_id=1001', [4], 0, 8],
    ['?actor_type=custom&actor_id=1001', [], 0, 8],
    ['?actor_id=risk-desk&page_size=1&page=2', [2, 8], 1, 1],
    ['?ids=1,2,3,4', [2, 4], 0, 8],
    ['?ids=1,3', [], 0, 8],
    ['?ids=2,4,8&actor_type=custom&page_size=1', [2, 8], 0, 1],
  ])(
    '%s: the events of type review, same parameters and envelope',
    async (query, ids, offset, size) => {
      expectAnswer(await search(query, 'reviews'), 200, envelope(ids, offset, size));
    },
  );
});
