import { beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sharedService } from '../support/service.ts';

const service = sharedService();
const { demo, operate } = service;

/** An event as the model keeps it. */
interface ModelEvent {
  id: number;
  type: 'comment' | 'review';
  actor_type: 'login_user' | 'custom';
  actor_id: string;
  comment: string;
  status?: string;
}

interface Query {
  actor_type?: string | undefined;
  actor_id?: string | undefined;
  ids?: number[] | undefined;
  page?: number | undefined;
  page_size?: number | undefined;
}

const actorTypes = ['login_user', 'custom'] as const;
/** Some that look like one another, and some that look like parts of keys. */
const actorIds = ['1', '01', 'a', 'A', 'login_user', 'custom#a', 'EVENT#0000000000000001', 'é', '%20 &='];

const someEvent = fc.record({
  type: fc.constantFrom('comment' as const, 'review' as const),
  actor_type: fc.constantFrom(...actorTypes),
  actor_id: fc.constantFrom(...actorIds),
  comment: fc.string({ unit: 'grapheme', maxLength: 20 }),
  status: fc.constantFrom('approved', 'rejected'),
});

const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
const someQuery: fc.Arbitrary<Query> = fc.record({
  actor_type: optional(fc.constantFrom(...actorTypes)),
  actor_id: optional(fc.constantFrom(...actorIds, 'nobody')),
  ids: optional(fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 60 })),
  page: optional(fc.oneof(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 9_999_999_999_999 }))),
  page_size: optional(fc.oneof(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 100 }))),
});

let accessRequestId: number;
let events: ModelEvent[];

/** What a search finds, by looking at every event. */
function naiveSearch(path: string, { actor_type, actor_id, ids, page = 1, page_size = 8 }: Query) {
  const found = events
    .filter(({ type }) => path === 'events' || type === 'review')
    .filter((event) => actor_type === undefined || event.actor_type === actor_type)
    .filter((event) => actor_id === undefined || event.actor_id === actor_id)
    .filter(({ id }) => ids === undefined || ids.includes(id));
  const offset = (page - 1) * page_size;
  const results = found.slice(offset, offset + page_size);
  return { total: found.length, offset, count: results.length, results };
}

const textOf = (query: Query): string => {
  const sent = Object.entries(query).filter(([, value]) => value !== undefined);
  return `?${new URLSearchParams(sent.map(([name, value]): [string, string] => [name, String(value)]))}`;
};

beforeAll(async () => {
  const created = await operate('access-requests', 'create', { account: demo.account.account_id });
  accessRequestId = Number(created.access_request_id);
  const drafts = fc.sample(someEvent, 40);
  events = [];
  for (const { type, actor_type, actor_id, comment, status } of drafts) {
    const flags = { 'actor-type': actor_type, 'actor-id': actor_id, comment };
    const verdict = type === 'review' ? { status } : {};
    await operate(`${type}s`, 'add', { 'access-request': accessRequestId, ...flags, ...verdict });
    events.push({ id: events.length + 1, type, actor_type, actor_id, comment, ...verdict });
  }
});

describe.each(['events', 'reviews'])('a search of %s', (path) => {
  test('finds what looking at every event finds, whatever the filters and pages', async () => {
    await fc.assert(
      fc.asyncProperty(someQuery, async (query) => {
        const { status, body } = await service.search(textOf(query), { id: accessRequestId, path });
        const expected = naiveSearch(path, query);
        const shown = body.results.map(
          ({ access_request_id, created_at, updated_at, ...event }: Record<string, unknown>) => event,
        );
        expect({ status, body: { ...body, results: shown } }).toEqual({ status: 200, body: expected });
      }),
      { numRuns: 150 },
    );
  });

  test('its pages, one after the other, are all that it finds, once each', async () => {
    const filters = fc.record({
      actor_type: optional(fc.constantFrom(...actorTypes)),
      actor_id: optional(fc.constantFrom(...actorIds)),
    });
    await fc.assert(
      fc.asyncProperty(filters, fc.integer({ min: 3, max: 15 }), async (query, page_size) => {
        const seen: number[] = [];
        for (let page = 1; ; page += 1) {
          const { body } = await service.search(textOf({ ...query, page, page_size }), {
            id: accessRequestId,
            path,
          });
          if (body.count === 0) break;
          seen.push(...body.results.map(({ id }: { id: number }) => id));
        }
        expect(seen).toEqual(naiveSearch(path, { ...query, page_size: 100 }).results.map(({ id }) => id));
      }),
      { numRuns: 15 },
    );
  });
});
